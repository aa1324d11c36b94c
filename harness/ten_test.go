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

// TestTenInARow runs every scenario of the catalogue whose faults are placed ten times on real servers, with one lock for each way in which the
// catalogue expects it to end: every run must end in that way. A run that shows nothing, because the machine was short of time, is made
// again; how many runs it took is logged. It takes minutes: LOCKBENCH_SOAK asks for it.
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

// placed tells a fault that strikes at a moment of a run, not from its beginning.
func placed(f faults.Spec) bool { return f.When != (faults.Trigger{}) }

// oneForEachEnd names, for each set of violations that the catalogue expects of anybody in a scenario, the first lock that it expects them of. A lock
// that nobody is ever granted is left out: the moment of the fault does not come.
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
