package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// fencingOrder: the fencing tokens of exclusive grants strictly increase in the order of the grants.
//
// Grant 1 certainly came before grant 2 if it had returned before 2 was called. If at most one client can hold, it also did if it returned before 2
// returned and less than a lease after 2 was called: had 2 been granted first, its hold would have had to end before 1 was granted, but it was not
// released, because 2 had not returned, and could not have expired. Without a lease that is the order of the returns. Equal fences of two grants are
// a violation in any order.
//
// An opportunity is an exclusive grant with a fence.
//
// Limits: grants without a certain order are compared for equality only, and only with grants that overlap them.
type fencingOrder struct {
	tally
	recent []fenced // by return, with the highest fence up to each
	before fenced   // the highest fence among the grants dropped from recent
}

// fenced is a grant and the highest fence of the grants returned up to it.
type fenced struct {
	r       *record
	ret     int64
	highest *record
	fence   uint64
}

func newFencingOrder(d *keyInput) *fencingOrder {
	return &fencingOrder{tally: d.tallyOf(verdicts.FencingOrder, d.k.fenced, "no fencing tokens were recorded")}
}

func (f *fencingOrder) returned(r *record) {
	if !f.applies || !r.granted() || r.mode == history.Shared {
		return
	}
	fence := f.d.k.detailOf(r).fence
	if fence == 0 {
		return
	}
	f.opportunity(r.call, r.ret)
	again := func(o *record) bool { // a re-entry of the same hold, or possibly one
		return f.d.a.header.Kind == history.Reentrant && o.client == r.client && f.d.k.detailOf(o).fence == fence
	}
	if earlier := f.highestBefore(r); earlier.highest != nil && fence <= earlier.fence && !again(earlier.highest) && f.d.obeys("fence-order") {
		f.report(earlier.highest, r)
	} else if twin := f.sameFence(r, fence); twin != nil && !again(twin) && f.d.obeys("fence-twice") {
		f.report(twin, r)
	}
	f.remember(r, fence)
}

// highestBefore returns the highest fence among the grants that certainly came before r.
func (f *fencingOrder) highestBefore(r *record) fenced {
	by := r.call // returned before this instant
	if h := f.d.a.header; Permits(h) == 1 {
		by = r.ret
		if h.Lease > 0 {
			by = min(by, plus(f.d.k.from(r), h.Lease))
		}
	}
	n, _ := slices.BinarySearchFunc(f.recent, by, func(e fenced, t int64) int {
		if e.ret < t {
			return -1
		}
		return 1
	})
	if n == 0 {
		return f.before
	}
	return f.recent[n-1]
}

// sameFence returns a recent grant with the same fence.
func (f *fencingOrder) sameFence(r *record, fence uint64) *record {
	for i := len(f.recent) - 1; i >= 0 && f.recent[i].ret >= r.call; i-- {
		if f.d.k.detailOf(f.recent[i].r).fence == fence {
			return f.recent[i].r
		}
	}
	return nil
}

func (f *fencingOrder) remember(r *record, fence uint64) {
	e := fenced{r: r, ret: r.ret, highest: r, fence: fence}
	last := f.before
	if n := len(f.recent); n > 0 {
		last = f.recent[n-1]
	}
	if last.highest != nil && last.fence > fence {
		e.highest, e.fence = last.highest, last.fence
	}
	f.recent = append(f.recent, e)
	// A later grant returns after now and was called at most one longest wait earlier: of the grants that returned long before that only the maximum
	// is needed. Half of the list is dropped at a time, to spread the cost.
	if n := len(f.recent) / 2; n > 512 && f.recent[n].ret < r.ret-f.d.k.longestWait {
		f.before = f.recent[n-1]
		f.recent = append(f.recent[:0], f.recent[n:]...)
	}
}

func (f *fencingOrder) report(earlier, r *record) {
	v := Violation{At: r.ret, Clients: []string{f.d.clientName(earlier), f.d.clientName(r)}}
	v.WithinClockError = earlier.client != r.client && earlier.ret+f.d.a.header.ClockError >= r.call && f.d.k.detailOf(earlier).fence != f.d.k.detailOf(r).fence && f.d.a.header.ClockError > 0
	if v.WithinClockError {
		f.withdraw(1, withinClockError)
	}
	f.found(v, func() Witness { return f.d.witness([]*record{earlier, r}) })
}
