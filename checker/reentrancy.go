package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// reentrancy: the owner of a re-entrant lock may acquire it again, and holds until it has released
// as often as it acquired. It is broken if the owner is refused, or waits in vain for longer than
// the grace, while it certainly held throughout; or if a release is refused whose hold was certain.
// An opportunity is a re-entry or a release; it is not judged if a fault met the hold, or if the
// release has none. An inner release that frees the lock shows as a refused outer one, or in
// mutual-exclusion.
type reentrancy struct {
	tally
	owned map[uint32][]uint32 // by client: its latest holds
}

func newReentrancy(d *keyInput) *reentrancy {
	return &reentrancy{tally: d.tallyOf(verdicts.Reentrancy, d.a.header.Kind == history.Reentrant, "the lock is not re-entrant"), owned: map[uint32][]uint32{}}
}

func (e *reentrancy) returned(o *op) {
	switch {
	case o.granted():
		if e.d.k.nested(o) {
			e.opportunity(o.call, o.ret)
		}
		of := e.owned[o.client]
		e.owned[o.client] = append(of[max(0, len(of)+1-maxOpen):], o.hold)
	case o.kind == history.Acquire && (o.outcome == history.Busy || o.outcome == history.Fail && o.ret-o.call > grace):
		i := slices.IndexFunc(e.owned[o.client], func(n uint32) bool { // certain throughout the try
			h := e.d.k.holds.at(n)
			return e.d.k.ret(e.d.k.at(h.began)) <= o.call && e.d.k.certainUntil(h) >= o.ret
		})
		if i >= 0 && e.d.uses("owner-refused") {
			own := *o
			own.hold = e.owned[o.client][i]
			e.judge(&own)
		}
	case o.kind == history.Release && o.saysGone() && e.d.wasCertain(o) && e.d.uses("owner-not-held"):
		e.judge(o)
	case o.kind == history.Release && o.outcome == history.OK && o.hold == 0:
		e.unjudged(withoutHold)
	case o.kind == history.Release && (o.outcome == history.OK || o.saysGone()):
		e.opportunity(o.call, o.ret)
	}
}

// judge reports a violation by a reply, unless a fault explains it.
func (e *reentrancy) judge(o *op) {
	if e.d.excusedHold(o) {
		e.unjudged(metAFault)
		return
	}
	e.denied(o)
}
