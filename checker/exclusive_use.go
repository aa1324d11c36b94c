package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// exclusiveUse: no two conflicting critical sections overlap for longer than the clock error. A use
// is what the client really did, whether or not it still held the lock. A lock with a lease cannot
// keep this promise if a client stalls for longer than the lease: the sections then overlap
// although the beliefs do not. That is inherent, and the reason for fencing.
//
// A use counts as its hold does; a use outside any hold counts as a hold of its own. It ends at the
// latest when a confirmed crash of its client began: the client is seen dead a little later than it
// dies, and a lock that its connection holds is free by then. An opportunity is an entry.
type exclusiveUse struct {
	tally
	over overlaps
}

func newExclusiveUse(d *keyInput) *exclusiveUse {
	n := d.k.count(history.Use, history.None, history.OK, history.Fail, history.Unknown)
	return &exclusiveUse{tally: d.tallyOf(verdicts.ExclusiveUse, n > 0, "no critical sections were recorded"), over: d.newOverlaps()}
}

func (u *exclusiveUse) called(o *op) {
	if o.kind != history.Use {
		return
	}
	hold := o.hold
	if hold == 0 {
		hold = ^o.line
	}
	i := interval{start: o.call, end: o.ret}
	for _, at := range u.d.ev.crashes[u.d.a.client(o)] {
		if at >= o.call {
			i.end = min(i.end, at)
		}
	}
	if with, lasted, _ := u.over.add(o, hold, i); len(with) > 0 && u.d.uses("use-overlap") {
		u.over.report(&u.tally, o, i, with, lasted)
		return
	}
	u.opportunity(o.call, o.ret)
}
