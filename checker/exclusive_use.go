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
	over *overlaps
}

func newExclusiveUse(d *keyInput) *exclusiveUse {
	n := d.k.count(history.Use, history.None, history.OK, history.Fail, history.Unknown)
	return &exclusiveUse{tally: d.tallyOf(verdicts.ExclusiveUse, n > 0, "no critical sections were recorded"), over: newOverlaps(d.a.header)}
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
	with, lasted, _ := u.over.add(i)
	v := u.d.overlapViolation(i, with, lasted)
	if len(with) > 0 && u.d.obeys("use-overlap") {
		u.found(v, func() Witness { return u.d.witness(recordsOf(append(with, i))) })
	}
	if len(with) > 0 && v.WithinClockError {
		u.unjudged(1, withinClockError)
		return
	}
	u.opportunity(r.call, r.ret)
}
