package checker

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestWitnessShowsBothHolds: an overlap is shown by the two holds, the one that conflicts last.
func TestWitnessShowsBothHolds(t *testing.T) {
	v := verdictOf(t, Input{Header: forever}, parse(t, `
		a acquire 0 1 ok
		b acquire 0 2 ok
		a release 3 5 ok
		b release 6 7 ok`), Options{})
	w := v.Violations[0].Witness
	if len(w.Holds) != 2 || w.Holds[0].Client != "a" || w.Holds[1].Client != "b" || w.Holds[0].Belief[0] != (Span{1 * msec, 3 * msec}) {
		t.Errorf("%+v", w)
	}
	v.Violations[0].Cause = history.DoubleGrant
	v.CountCauses()
	if p := v.property(history.MutualExclusion); p.Causes[history.DoubleGrant] != 1 || p.First == nil || p.First.Cause != history.DoubleGrant {
		t.Errorf("%+v", p)
	}
}
