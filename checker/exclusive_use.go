package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// exclusiveUse: no two conflicting critical sections overlap for longer than the clock error. A use is [entered, left], what the client really did,
// whether or not it still held the lock. A lock with a lease cannot keep this promise if a client stalls for longer than the lease: the sections then
// overlap although the beliefs do not. That is inherent, and the reason for fencing.
//
// A use counts as its hold does; a use outside any hold counts as a hold of its own. The definition is the overlap of intervals, so the sweep needs
// no proof.
//
// An opportunity is an entry. Limits: what a client does before it enters or after it leaves is not seen.
type exclusiveUse struct {
	tally
	d    *keyInput
	over *overlaps
}

func newExclusiveUse(d *keyInput) *exclusiveUse {
	u := &exclusiveUse{tally: tally{property: verdicts.ExclusiveUse, applies: d.k.count(history.Use, history.None, history.OK, history.Fail, history.Unknown) > 0}, d: d,
		over: newOverlaps(d.a.header)}
	if !u.applies {
		u.note = "no critical sections were recorded"
	}
	return u
}

func (u *exclusiveUse) called(r *record) {
	if r.op != history.Use {
		return
	}
	hold := u.d.a.holdOf[r.line-1]
	if hold == 0 {
		hold = ^r.line // a hold of its own
	}
	i := interval{r, hold, r.call, r.ret}
	with, lasted := u.over.add(i)
	v := overlapViolation(u.d, i, with, lasted)
	if len(with) > 0 && u.d.rules.on("use-overlap") {
		u.found(u.d, v, func() Witness { return u.d.witness(recordsOf(append(with, i))) })
	}
	if len(with) > 0 && v.WithinClockError {
		u.unjudged(true, withinClockError)
		return
	}
	u.opportunity(u.d, r.call, r.ret)
}

func (u *exclusiveUse) returned(*record) {}

func (u *exclusiveUse) done() {}
