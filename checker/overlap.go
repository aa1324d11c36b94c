package checker

import (
	"container/heap"

	"github.com/lockbench/lockbench/history"
)

// interval is a belief or a use.
type interval struct {
	r          *record
	start, end int64
}

// covers tells whether i, which started no earlier, starts within other. Of two that start together, one that is an instant
// may have come first.
func (other interval) covers(i interval) bool {
	return other.end > i.start && (other.start < i.start || i.end > i.start)
}

// overlaps finds conflicting intervals that arrive by start.
//
// Exclusive: intervals I1, I2, … by start are pairwise disjoint exactly when each starts at or after the largest end so far,
// so one number is enough. Shared and exclusive: two numbers, one for each mode. Where a client does not conflict with itself, the
// largest end of any other client is wanted, and that is known from the two largest ends of different clients.
// Permits k: at the start of an interval, those that have not ended are all in force together; a heap of ends
// counts them. Intervals are closed, so touching is no overlap: the grant may have been the instant after the release.
type overlaps struct {
	permits   int
	same      bool // a client conflicts with itself
	exclusive ends
	shared    ends
	inForce   endHeap // permits > 1
}

func newOverlaps(h history.Header, same bool) *overlaps {
	o := &overlaps{permits: 1, same: same}
	if h.Kind == history.Semaphore {
		o.permits = max(h.Permits, 1)
	}
	return o
}

// add takes the next interval and gives those it conflicts with, the longest first; none when it conflicts with none. One that
// ends before it starts is empty; one that ends when it starts is an instant, and conflicts with what it lies within.
func (o *overlaps) add(i interval) (with []interval) {
	if i.end < i.start {
		return nil
	}
	if o.permits > 1 {
		return o.addPermit(i)
	}
	who := i.r.client
	if o.same {
		who = ^uint32(0)
	}
	conflict := o.exclusive.longestBut(who)
	if i.r.mode == history.Exclusive {
		if s := o.shared.longestBut(who); s.r != nil && (conflict.r == nil || s.end > conflict.end) {
			conflict = s
		}
	}
	if conflict.r != nil && conflict.covers(i) {
		with = []interval{conflict}
	}
	if i.r.mode == history.Shared {
		o.shared.add(i)
	} else {
		o.exclusive.add(i)
	}
	return with
}

func (o *overlaps) addPermit(i interval) (with []interval) {
	for len(o.inForce) > 0 && o.inForce[0].end <= i.start {
		heap.Pop(&o.inForce)
	}
	for _, other := range o.inForce {
		if other.covers(i) {
			with = append(with, other)
		}
	}
	if len(with) < o.permits {
		with = nil
	}
	heap.Push(&o.inForce, i)
	return with
}

// ends keeps the two largest ends of different clients.
type ends struct{ first, second interval }

func (e *ends) add(i interval) {
	switch {
	case e.first.r == nil || i.end >= e.first.end:
		if e.first.r != nil && e.first.r.client != i.r.client {
			e.second = e.first
		}
		e.first = i
	case i.r.client != e.first.r.client && (e.second.r == nil || i.end > e.second.end):
		e.second = i
	}
}

// longestBut gives the interval with the largest end among those of other clients.
func (e *ends) longestBut(client uint32) interval {
	if e.first.r != nil && e.first.r.client == client {
		return e.second
	}
	return e.first
}

// endHeap is a heap of intervals by end.
type endHeap []interval

func (h endHeap) Len() int           { return len(h) }
func (h endHeap) Less(i, j int) bool { return h[i].end < h[j].end }
func (h endHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endHeap) Push(x any)        { *h = append(*h, x.(interval)) }

// Pop removes the last, as container/heap asks.
func (h *endHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
