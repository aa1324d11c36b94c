package page

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// maxDrawn and maxCommands are the most operations and commands that are drawn.
const (
	maxDrawn    = 4000
	maxCommands = 6000
)

// window keeps the operations near the instants of interest. If there are too many, it keeps the
// nearest.
type window struct {
	key   string  // "" until the first operation, when no violation names one
	at    []int64 // instants of interest, in order; empty: the beginning of the record
	reach int64   // nanoseconds on either side
	ops   []history.Operation
	left  int64 // operations of the key that were not kept
	held  map[string]*inForce
	other int64     // operations of other keys
	kept  *[2]int64 // what span returns; nil: not known since the last change
}

// inForce is the state of a client before the window; finish derives from it whether the client
// held the lock at the window's start.
type inForce struct {
	acquire, extend history.Operation // the last that were granted before it
	released        int64             // call of the last release before it; math.MinInt64: none
}

func newWindow(key string, at []int64) *window {
	return &window{key: key, at: slices.Sorted(slices.Values(at)), reach: math.MaxInt64, held: map[string]*inForce{}}
}

// distance returns the time between an operation and the nearest instant of interest; 0 if it was
// under way then.
func (w *window) distance(op *history.Operation) int64 {
	if len(w.at) == 0 {
		return max(op.Call, 0)
	}
	least := int64(math.MaxInt64)
	for _, at := range w.at {
		least = min(least, max(at-op.Return, op.Call-at, 0))
	}
	return least
}

func (w *window) take(op *history.Operation) {
	w.kept = nil
	if w.key == "" {
		w.key = op.Key
	}
	if op.Key != w.key {
		w.other++
		return
	}
	if w.distance(op) > w.reach {
		w.leave(op)
		return
	}
	w.ops = append(w.ops, *op)
	if len(w.ops) > 2*maxDrawn {
		w.shrink()
	}
}

// shrink drops the further half.
func (w *window) shrink() {
	all := make([]int64, len(w.ops))
	for i := range w.ops {
		all[i] = w.distance(&w.ops[i])
	}
	slices.Sort(all)
	w.reach = all[min(maxDrawn, len(all)-1)]
	kept := w.ops[:0]
	for i := range w.ops {
		if w.distance(&w.ops[i]) <= w.reach && len(kept) < maxDrawn*3/2 {
			kept = append(kept, w.ops[i])
		} else {
			w.leave(&w.ops[i])
		}
	}
	w.ops = kept
}

// leave drops an operation, and records what finish needs to know whether its client held the lock
// at the window's start.
func (w *window) leave(op *history.Operation) {
	w.left++
	if len(w.at) == 0 || op.Return > w.at[0] {
		return
	}
	f := w.held[op.Client]
	if f == nil {
		f = &inForce{released: math.MinInt64}
		w.held[op.Client] = f
	}
	switch {
	case op.Op == history.Acquire && op.Outcome == history.OK && op.Return >= f.acquire.Return:
		f.acquire = *op
	case op.Op == history.Extend && op.Outcome == history.OK && op.Return >= f.extend.Return:
		f.extend = *op
	case op.Op == history.Release:
		f.released = max(f.released, op.Call)
	}
}

// finish returns the operations in order of their calls, with the grants of the holds that were
// open at the window's start.
func (w *window) finish() []history.Operation {
	if w.kept = nil; len(w.ops) > maxDrawn {
		w.shrink()
	}
	for _, f := range w.held {
		if f.acquire.ID != 0 && f.acquire.Return > f.released {
			w.ops = append(w.ops, f.acquire)
			if f.extend.Return > f.acquire.Return {
				w.ops = append(w.ops, f.extend)
			}
		}
	}
	slices.SortFunc(w.ops, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return w.ops
}

// span returns the interval of the window: that of the kept operations that began near enough.
func (w *window) span() (from, to int64) {
	if w.kept == nil { // it is asked for of each command
		w.kept = &[2]int64{math.MaxInt64, math.MinInt64}
		for i := range w.ops {
			if w.distance(&w.ops[i]) <= w.reach {
				w.kept[0], w.kept[1] = min(w.kept[0], w.ops[i].Call), max(w.kept[1], w.ops[i].Return)
			}
		}
	}
	return w.kept[0], w.kept[1]
}
