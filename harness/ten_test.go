package harness

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/verdicts"
)

// TestTenInARow runs every scenario with placed faults ten times on real servers, with one lock for
// each result that the catalogue expects: every run must have that result. A run without a verdict,
// on a busy machine, is repeated; the number of runs is logged. It takes minutes, so it runs only
// with LOCKBENCH_SOAK.
func TestTenInARow(t *testing.T) {
	if os.Getenv("LOCKBENCH_SOAK") == "" {
		t.Skip("takes minutes; set LOCKBENCH_SOAK")
	}
	p, rows := provider(t, "process"), map[string][]scenarios.Scenario{}
	for _, s := range scenarios.Builtin() {
		if !slices.ContainsFunc(s.Faults, placed) {
			continue
		}
		for _, lock := range oneForEachEnd(s.Name) {
			rows[lock] = append(rows[lock], slices.Repeat([]scenarios.Scenario{s}, 10)...)
		}
	}
	if len(rows) < 10 {
		t.Fatalf("%d locks meet a placed fault", len(rows))
	}
	for lock, all := range rows {
		asExpected(t, p, Goroutines, 4, lock, all)
	}
}

// placed reports whether a fault is injected at a moment of a run, not from its start.
func placed(f faults.Spec) bool { return f.When != (faults.Trigger{}) }

// oneForEachEnd names, for each set of violations that the catalogue expects in a scenario, the
// first lock with that expectation. It leaves out locks that are never granted, for which the
// moment of the fault does not come.
func oneForEachEnd(scenario string) (locks []string) {
	seen := map[string]bool{}
	for _, v := range catalogue.Locks() {
		want, known := v.Expect[scenario]
		never := slices.Contains(want.Breaks, verdicts.Break{Property: verdicts.Progress, Cause: verdicts.NeverGranted})
		if end := fmt.Sprint(want.Breaks); known && want.NA == "" && !never && !seen[end] {
			seen[end] = true
			locks = append(locks, v.Name)
		}
	}
	return locks
}
