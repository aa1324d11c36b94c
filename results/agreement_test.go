package results_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

func TestAgree(t *testing.T) {
	cell := func(lock, observed string, v checker.Result) results.Cell {
		return results.Cell{Lock: lock, Scenario: "s", Expected: "e", Observed: observed, Verdict: v}
	}
	sim := results.Suite{Server: "sim", Seed: 1, Cells: []results.Cell{
		cell("same", "safe", checker.Pass), cell("differs", "safe", checker.Pass), cell("unclear", "safe", checker.Pass),
		cell("n/a in one", "n/a", checker.NotApplicable), cell("in one alone", "safe", checker.Pass), cell("breaks otherwise", "progress/orphan", checker.Pass),
	}}
	real := results.Suite{Cells: []results.Cell{
		cell("n/a in one", "safe", checker.Pass), cell("unclear", "nothing", checker.Inconclusive),
		cell("differs", "progress/orphan", checker.Fail), cell("same", "safe", checker.Pass),
		cell("breaks otherwise", "progress/no-expiry", checker.Pass),
	}}
	want := results.Agreement{With: "sim, seed 1", Cells: 3, Agree: 2, Alike: 1, Differences: []results.Difference{{Lock: "differs", Scenario: "s", Expected: "e", First: "safe", Second: "progress/orphan"}}}
	if diff := cmp.Diff(want, results.Agree(sim, real)); diff != "" {
		t.Error(diff)
	}
}
