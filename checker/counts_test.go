package checker

import (
	"testing"

	"github.com/lockbench/lockbench/verdicts"
)

// TestOpportunitiesOfHoldsThatAnExtendBegan: such a hold begins when the extend returns, and is no re-entry.
func TestOpportunitiesOfHoldsThatAnExtendBegan(t *testing.T) {
	for _, r := range []struct {
		row
		property verdicts.Property
		judged   int
	}{
		{row{name: "it meets another client's", head: reentrant, ops: `
			a acquire 0 1 ok
			b acquire 99 102 ok until=202
			b extend 103 107 lost
			b extend 103 108 ok until=203`}, verdicts.MutualExclusion, 2},
		{row{name: "an acquire before it is no re-entry", head: reentrant, ops: `
			a acquire 0 1 ok
			a extend 106 109 lost
			a extend 109 114 ok
			a acquire 110 110 ok`}, verdicts.Progress, 2},
	} {
		t.Run(r.name, func(t *testing.T) {
			if p := r.check(t).property(r.property); p.Judged != r.judged || len(p.NotJudged) > 0 {
				t.Errorf("%d judged, not judged %v; want %d", p.Judged, p.NotJudged, r.judged)
			}
		})
	}
}
