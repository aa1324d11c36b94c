package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// fencingOrder: the fencing tokens of exclusive grants strictly increase in the order of the grants.
//
// Grant 1 certainly came before grant 2 if it had returned before 2 was called, or asked for if that is known. If at most one client can hold, it also
// did if it returned before 2 returned and less than a lease after 2 was called: had 2 been granted first, its hold would have had to end before 1 was
// granted, but it was not released, because 2 had not returned, and could not have expired. Without a lease that is the order of the returns. Equal
// fences of two grants are a violation in any order.
//
// An opportunity is an exclusive grant with a fence.
//
// Limits: grants without a certain order are compared for equality only, and only with grants that overlap them.
type fencingOrder struct {
	tally
	recent []fenced // by return
	before *record  // the grant with the highest fence among those dropped from recent
}

// fenced is a grant, and that with the highest fence of those that returned up to it.
type fenced struct{ r, highest *record }

func newFencingOrder(d *keyInput) *fencingOrder {
	return &fencingOrder{tally: d.tallyOf(verdicts.FencingOrder, d.k.fenced, "no fencing tokens were recorded")}
}

func (f *fencingOrder) fence(r *record) uint64 { return f.d.k.detailOf(r).fence }

func (f *fencingOrder) returned(r *record) {
	if !f.applies || !r.granted() || r.mode == history.Shared {
		return
	}
	fence := f.fence(r)
	if fence == 0 {
		return
	}
	f.opportunity(r.call, r.ret)
	again := func(o *record) bool { // a re-entry of the same hold, or possibly one
		return f.d.a.header.Kind == history.Reentrant && o.client == r.client && f.fence(o) == fence && (!f.d.k.detailOf(r).fresh || f.d.ev.clocksMove())
	}
	broken := func(earlier *record) bool { return earlier != nil && fence <= f.fence(earlier) && !again(earlier) }
	earlier, unsure := f.highestBefore(r, 0), false
	if error := f.d.a.header.ClockError; error > 0 { // rather one that came first by any clock
		certain := f.highestBefore(r, error)
		if unsure = !broken(certain); !unsure {
			earlier = certain
		}
	}
	if broken(earlier) && f.d.obeys("fence-order") {
		f.report(earlier, r, unsure)
	} else if twin := f.sameFence(r, fence); twin != nil && !again(twin) && f.d.obeys("fence-twice") {
		f.report(twin, r, false)
	}
	f.remember(r)
}

// highestBefore returns the grant with the highest fence among those that certainly came before r, by clocks that differ by no more than an error; nil
// if none did.
func (f *fencingOrder) highestBefore(r *record, error int64) *record {
	by := f.d.k.from(r) // returned before this instant
	if h := f.d.a.header; Permits(h) == 1 {
		by = r.ret
		if h.Lease > 0 {
			by = min(by, plus(f.d.k.from(r), h.Lease))
		}
	}
	n, _ := slices.BinarySearchFunc(f.recent, by-error, func(e fenced, t int64) int {
		if e.r.ret < t {
			return -1
		}
		return 1
	})
	if n == 0 {
		return f.before
	}
	return f.recent[n-1].highest
}

// sameFence returns a recent grant with the same fence.
func (f *fencingOrder) sameFence(r *record, fence uint64) *record {
	for i := len(f.recent) - 1; i >= 0 && f.recent[i].r.ret >= r.call; i-- {
		if f.fence(f.recent[i].r) == fence {
			return f.recent[i].r
		}
	}
	return nil
}

func (f *fencingOrder) remember(r *record) {
	highest := f.before
	if n := len(f.recent); n > 0 {
		highest = f.recent[n-1].highest
	}
	if highest == nil || f.fence(highest) <= f.fence(r) {
		highest = r
	}
	f.recent = append(f.recent, fenced{r, highest})
	// A later grant returns after now and was called at most one longest wait earlier, by clocks that differ by no more than their error: of the grants
	// that returned long before that only the maximum is needed. Half of the list is dropped at a time, to spread the cost.
	if n := len(f.recent) / 2; n > 512 && f.recent[n].r.ret < r.ret-f.d.k.longestWait-f.d.a.header.ClockError {
		f.before = f.recent[n-1].highest
		f.recent = append(f.recent[:0], f.recent[n:]...)
	}
}

// report reports a grant with a fence that is too small. unsure says that it came after another only by exact clocks.
func (f *fencingOrder) report(earlier, r *record, unsure bool) {
	v := Violation{At: r.ret, Clients: []string{f.d.clientName(earlier), f.d.clientName(r)}}
	v.WithinClockError = unsure && earlier.client != r.client && f.fence(earlier) != f.fence(r)
	if v.WithinClockError {
		f.withdraw(1, withinClockError)
	}
	f.found(v, func() Witness { return f.d.witness([]*record{earlier, r}) })
}
