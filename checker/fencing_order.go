package checker

import (
	"slices"

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
	recent  []fenced // by return
	before  fenced   // of those dropped from recent, the one with the highest fence so far
	longest int64    // the longest time that a grant took, so far
}

// fenced is the grant with the highest fence of those that returned by an instant.
type fenced struct {
	ret     int64
	highest op
	fence   uint64 // of highest; 0: none
}

func newFencingOrder(d *keyInput) *fencingOrder {
	return &fencingOrder{tally: d.tallyOf(verdicts.FencingOrder, d.k.fenced, "no fencing tokens were recorded")}
}

func (f *fencingOrder) returned(o *op) {
	if !o.granted() || o.mode == history.Shared {
		return
	}
	fence := f.d.k.fence(o)
	if fence == 0 {
		return
	}
	asked := f.d.k.asked(o)
	certain, earlier := f.highestBefore(asked-f.d.a.header.ClockError), f.highestBefore(asked)
	switch {
	case f.breaks(o, fence, &certain):
		f.report(&certain.highest, o, false)
	case f.breaks(o, fence, &earlier):
		f.report(&earlier.highest, o, earlier.highest.client != o.client)
	default:
		f.opportunity(o.call, o.ret)
	}
	f.remember(o, fence)
}

// breaks reports whether a grant has a fence that is too small after another.
func (f *fencingOrder) breaks(o *op, fence uint64, earlier *fenced) bool {
	h := &earlier.highest
	again := fence == earlier.fence && h.client == o.client && f.d.k.nested(o)
	return earlier.fence != 0 && fence <= earlier.fence && !again && f.d.uses("fence-order")
}

// highestBefore returns the grant with the highest fence among those that returned before an
// instant.
func (f *fencingOrder) highestBefore(t int64) fenced {
	n, _ := slices.BinarySearchFunc(f.recent, t, func(e fenced, t int64) int {
		if e.ret < t {
			return -1
		}
		return 1
	})
	switch {
	case n > 0:
		return f.recent[n-1]
	case f.before.ret < t:
		return f.before
	}
	return fenced{}
}

func (f *fencingOrder) remember(o *op, fence uint64) {
	next := fenced{ret: o.ret, highest: *o, fence: fence}
	last := f.before
	if n := len(f.recent); n > 0 {
		last = f.recent[n-1]
	}
	if last.fence > fence {
		next.highest, next.fence = last.highest, last.fence
	}
	f.recent = append(f.recent, next)
	// Half of the list is dropped at a time, to spread the cost. An instant before which all is
	// dropped lies too far back for any grant that has been seen; a longer one is compared with
	// fewer.
	f.longest = max(f.longest, o.ret-o.call)
	if n := len(f.recent) / 2; n > 512 && f.recent[n].ret < o.ret-2*f.longest-f.d.a.header.ClockError {
		f.before = f.recent[n-1]
		f.recent = append(f.recent[:0], f.recent[n:]...)
	}
}

// report reports a grant whose fence is too small.
func (f *fencingOrder) report(earlier, o *op, within bool) {
	v := Violation{At: o.ret, Clients: f.d.names(earlier, o), WithinClockError: within}
	f.found(v, []op{*earlier, *o})
}
