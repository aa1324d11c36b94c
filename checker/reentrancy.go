package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// reentrancy: the owner of a re-entrant lock may acquire it again, must release it as often as it
// acquired it, and holds until the last of these releases. It is broken if the owner is refused
// while a hold of its own was certain throughout; if a release is refused while its hold was; or if
// a release succeeds of a client that has no hold, open or without a reply. An opportunity is a
// re-entry or a release; it is not judged if a fault met the hold. An inner release that frees the
// lock shows as a refused outer one, or in mutual-exclusion.
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
	case o.kind == history.Acquire && o.outcome == history.Busy:
		if n := e.certain(o); n != 0 && e.d.uses("owner-refused") {
			own := *o
			own.hold = n
			e.judge(&own)
		}
	case o.kind == history.Release && o.saysGone() && e.d.wasCertain(o) && e.d.uses("owner-not-held"):
		e.judge(o)
	case o.kind == history.Release && o.outcome == history.OK && o.hold == 0 && e.d.uses("release-of-nothing"):
		if !e.d.k.late[o.line] {
			e.unjudged(1, unknownOutcomes)
			break
		}
		e.judge(o)
	case o.kind == history.Release && (o.outcome == history.OK || o.saysGone()):
		e.opportunity(o.call, o.ret)
	}
}

// certain returns the latest hold of a client that was certain throughout its refused try.
func (e *reentrancy) certain(o *op) (n uint32) {
	for _, n := range e.owned[o.client] {
		h := e.d.k.holds.at(n)
		if e.d.k.ret(e.d.k.at(h.began)) <= o.call && e.d.k.certainUntil(h) >= o.ret {
			return n
		}
	}
	return 0
}

// judge reports a violation by a reply, unless a fault explains it.
func (e *reentrancy) judge(o *op) {
	if e.d.excusedHold(o) {
		e.unjudged(1, metAFault)
		return
	}
	e.denied(o)
}
