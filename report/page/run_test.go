package page

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// TestOutcomesAreAllShown: every outcome that an operation can have has a column and, unless the
// word is plain, a sentence.
func TestOutcomesAreAllShown(t *testing.T) {
	counted, want := checker.Operations{"use": {"done": 1}}, []string{}
	for o := history.OK; o <= history.Unknown; o++ {
		counted["acquire "+o.String()] = map[string]int{o.String(): 1}
		want = append(want, o.String())
		if (outcomeAbout(o.String()) == "") != (o == history.OK) {
			t.Errorf("%s: said %q", o, outcomeAbout(o.String()))
		}
	}
	var v runView
	v.judged(results.Result{Operations: counted}, &digest{})
	if !slices.Equal(v.Outcomes, append(want, "done")) {
		t.Errorf("columns %q, want %q and done", v.Outcomes, want)
	}
}
