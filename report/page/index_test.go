package page

import (
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// TestLinks: a record leads to its page, and one that has none to its story.
func TestLinks(t *testing.T) {
	for want, e := range map[string]Entry{
		"a%20b/report.html":     {Kind: "run", Dir: "runs/a b"},
		"explore-x/report.html": {Kind: "explore", Dir: "runs/explore-x"},
		// a client that never ends leaves no record
		"explore-y/violations/001.txt": {Kind: "explore", Dir: "runs/explore-y", Story: true},
	} {
		if got := e.Link(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestHowItBroke: the list names what broke first of a run, and nothing of one that held.
func TestHowItBroke(t *testing.T) {
	first := func(at int64, p verdicts.Property) checker.Property {
		return checker.Property{Name: p, Verdict: checker.Fail, First: &checker.Violation{At: at, Property: p, Cause: verdicts.MisUnlock, Story: []string{"it broke"}}}
	}
	e := Entry{Result: &results.Result{Properties: []checker.Property{first(2, verdicts.ExclusiveUse), first(1, verdicts.ReleaseSafety)}}}
	if got, want := e.Broke(), "release-safety by mis-unlock"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Entry{}).Broke(); got != "" {
		t.Errorf("of a run without a violation: %q", got)
	}
}
