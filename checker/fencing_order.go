package checker

import (
	"sort"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// fencingOrder: the fences of exclusive grants increase. It is broken if the fence of a grant is
// not larger than that of another that had returned before this one was asked, beyond the clock
// error if they are two clients'. A re-entry of a hold may repeat its fence. Fence 0 is none.
//
// An opportunity is an exclusive grant with a fence.
type fencingOrder struct {
	tally
	highest []fenced // by return
}

// fenced is the grant with the highest fence of those that returned by an instant.
type fenced struct {
	ret   int64
	fence uint64 // 0: none
	place uint32
}

func newFencingOrder(d *keyInput) *fencingOrder {
	return &fencingOrder{tally: d.tallyOf(verdicts.FencingOrder, d.k.fenced, "no fencing tokens were recorded")}
}

func (f *fencingOrder) returned(o *op) {
	if !o.granted() || o.mode == history.Shared || f.d.k.fence(o) == 0 {
		return
	}
	next, asked := fenced{o.ret, f.d.k.fence(o), o.place}, f.d.k.asked(o)
	certain, earlier := f.before(asked-f.d.a.header.ClockError), f.before(asked)
	switch {
	case f.breaks(o, next.fence, certain):
		e := f.d.k.op(certain.place)
		f.found(Violation{At: o.ret, Clients: f.d.names(e, *o)}, []op{e, *o})
	case f.breaks(o, next.fence, earlier):
		e := f.d.k.op(earlier.place)
		f.found(Violation{At: o.ret, Clients: f.d.names(e, *o), WithinClockError: e.client != o.client}, []op{e, *o})
	default:
		f.opportunity(o.call, o.ret)
	}
	if last := f.before(never); last.fence > next.fence {
		next.fence, next.place = last.fence, last.place
	}
	f.highest = append(f.highest, next)
}

// breaks reports whether a grant has a fence that is too small after another.
func (f *fencingOrder) breaks(o *op, fence uint64, earlier fenced) bool {
	if fence > earlier.fence || !f.d.uses("fence-order") {
		return false
	}
	return fence < earlier.fence || !f.d.k.nested(o) || f.d.k.op(earlier.place).client != o.client
}

// before returns the grant with the highest fence among those that returned before an instant.
func (f *fencingOrder) before(t int64) fenced {
	n := sort.Search(len(f.highest), func(i int) bool { return f.highest[i].ret >= t })
	if n == 0 {
		return fenced{}
	}
	return f.highest[n-1]
}
