package page

import (
	"reflect"
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

// TestThumbnail: the drawing of a violation in characters is a picture of bars; what stands below
// its clients and faults is left out.
func TestThumbnail(t *testing.T) {
	first := &checker.Violation{Story: []string{"it broke"}, Lanes: []string{"          0 ms      5 ms", "c1        [#]!", "pause c1   ~~", "           ^ 1 ms", "[==] holds"}}
	e := Entry{Result: &results.Result{Properties: []checker.Property{{Name: verdicts.ExclusiveUse, Verdict: checker.Fail, First: first}}}}
	want := &thumbnail{18, []bar{{0, 0, 6, 7, "f-blue"}, {6, 0, 2, 7, "f-pink"}, {2, 9, 4, 7, "f-orange"}}}
	if got := e.Thumbnail(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (Entry{}).Thumbnail(); got != nil {
		t.Errorf("of a run without a violation: %+v", got)
	}
}
