package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// window is a stretch of one key's history that is searched by itself.
type window struct {
	from  int64     // calls before this instant count as made at it
	held  []*record // grants in force at from
	fence uint64    // highest fence granted before from
	ops   []*record // grants and refusals
	stay  []*record // grants still in force at the end of the window, which the next one ends
	open  bool      // it has a refusal that the sweep does not decide
	cause *suspect
}

func (w *window) stays(r *record) bool { return slices.Contains(w.stay, r) }

// Bounds on windows.
const (
	minWindow = 48         // operations below which a full lock does not end a window
	maxWindow = 2000       // operations beyond which a window is not searched
	maxSteps  = 400_000    // moves tried in a window; at most some 120 MB of states
	maxMoves  = 10_000_000 // moves tried in all, so that what is searched does not depend on the machine
	suspects  = 64         // windows with a violation that are found to have no order, per key, before others are skipped
	samples   = 64         // windows of no interest that are searched in any case, in all; of others fewer and fewer
)

// cutting is the state while a key's history is cut into windows. There are two places to cut.
//
// At a quiet instant: nothing is called, and no hold is possible.
//
// When the lock is certainly full: at the return of a grant with which all permits, or the exclusive hold, are in belief and no other hold is. Then
// the state is known, and every grant that is still waiting comes after that instant: had it come before, it would have been in force at it, one too
// many. So its call may be moved there. Refusals that are waiting have found the lock full. Under contention there is no quiet instant, but every
// hand-over has an instant with a full lock.
//
// Refusals that met, at any instant between call and return, beliefs that fill the lock are left out. A hold is in force during its whole belief in
// every order, so such a refusal can be put at that instant into any order of the others. The instant can be chosen as its call or the start of a
// belief. Also left out are grants with an empty belief, whose reply came after their lease, and refusals with another excuse. An acquire of unknown
// outcome may take effect at any later time and be gone at any time after that: it may excuse every later refusal, and no grant needs it.
type cutting struct {
	now     window
	belief  []interval // beliefs that have started and may still be in force
	flying  []*record  // called and not returned, in the window
	fence   uint64     // highest of the grants that have returned
	cover   int64      // until when a hold is possible
	lost    bool       // the window is too long and was dropped
	dropped int
	cuts    int
	own     map[uint32]int64 // see ownCoexist, by client: until when its own holds may last, which no grant to it ends
}

func (w *linearizability) called(r *record) {
	if r.op != history.Acquire && r.op != history.Extend || !w.d.k.matters(r) || r.outcome == history.Busy && w.full(r, r.call) {
		return
	}
	if len(w.flying) == 0 && w.cover < r.call && !w.d.opt.Plain {
		w.cut(r.call, nil)
	}
	w.flying = append(w.flying, r)
	w.add(r)
}

// matters reports whether a record belongs in a window.
func (k *keyLog) matters(r *record) bool {
	if r.op == history.Acquire && r.outcome == history.Busy {
		return true
	}
	if r.outcome != history.OK || r.op == history.Release || r.op == history.Write {
		return false
	}
	d := k.detailOf(r)
	return d.role == starts && d.end >= r.ret
}

func (w *linearizability) add(r *record) {
	if len(w.now.ops) >= maxWindow && !w.d.opt.Plain {
		w.now.ops, w.lost = w.now.ops[:0], true
	}
	w.now.ops = append(w.now.ops, r)
}

func (w *linearizability) returned(r *record) {
	if r.op != history.Acquire && r.op != history.Extend || !w.d.k.matters(r) {
		return
	}
	i := slices.Index(w.flying, r)
	if i < 0 {
		return // a refusal that met a full lock
	}
	w.flying[i] = w.flying[len(w.flying)-1]
	w.flying = w.flying[:len(w.flying)-1]
	if r.outcome == history.Busy {
		if w.refused.excusedFromSearch(r) {
			w.drop(r)
		} else {
			w.now.open = w.now.open || w.d.a.header.Kind != history.Mutex // then the sweep's test is necessary but not sufficient: see refusal
		}
		w.cover = max(w.cover, r.ret)
		return
	}
	w.start(r)
}

// full reports whether the beliefs at time t refuse r in any order.
func (w *linearizability) full(r *record, t int64) bool {
	n := 0
	for _, b := range w.belief {
		if b.start <= t && t <= b.end && mayRefuse(w.d.a.header.Kind, b.r.mode, r.mode) {
			n++
		}
	}
	return n >= Permits(w.d.a.header)
}

// settle leaves out the pending refusals that meet a full lock at time t.
func (w *linearizability) settle(t int64) {
	w.flying = slices.DeleteFunc(w.flying, func(r *record) bool {
		idle := r.outcome == history.Busy && w.full(r, t)
		if idle {
			w.drop(r)
		}
		return idle
	})
}

func (w *linearizability) drop(r *record) {
	for i := len(w.now.ops) - 1; i >= 0; i-- { // backwards: it was added recently
		if w.now.ops[i] == r {
			w.now.ops = slices.Delete(w.now.ops, i, i+1)
			return
		}
	}
}

func (w *linearizability) start(r *record) {
	d := w.d.k.detailOf(r)
	lingers := false
	if ownCoexist(w.d.a.header.Kind) {
		lingers = w.own[r.client] > r.ret
		w.own[r.client] = max(w.own[r.client], w.d.holdOf(r).gone)
	}
	if r.mode == history.Exclusive {
		w.fence = max(w.fence, d.fence)
	}
	if r.mode == history.Exclusive && Permits(w.d.a.header) == 1 && !lingers && !slices.ContainsFunc(w.belief, func(b interval) bool { return b.end > r.ret }) {
		w.cover = min(w.cover, r.ret) // what was possible before has ended
	}
	w.cover = max(w.cover, w.d.holdOf(r).gone, r.ret)
	w.belief = append(slices.DeleteFunc(w.belief, func(b interval) bool { return b.end <= r.ret }), interval{r: r, start: r.ret, end: d.end})
	w.settle(r.ret)
	full := !lingers && d.end > r.ret && len(w.belief) == Permits(w.d.a.header) && (r.mode == history.Exclusive || w.d.a.header.Kind != history.RW)
	// Pending operations are carried over: with twice as many finished, carrying costs less than searching.
	if full && len(w.now.ops) >= minWindow+2*len(w.flying) && !w.d.opt.Plain {
		var held []*record
		for _, b := range w.belief {
			held = append(held, b.r)
		}
		w.cut(r.ret, held)
	}
}

// cut ends the window at an instant at which held are in force, and begins the next.
func (w *linearizability) cut(t int64, held []*record) {
	done := w.now
	done.stay = held
	done.ops = slices.DeleteFunc(done.ops, func(r *record) bool { return slices.Contains(w.flying, r) })
	w.close(done)
	w.now = window{from: t, held: held, fence: w.fence, ops: done.ops[:0]}
	for _, r := range w.flying {
		if r.outcome == history.OK { // a refusal has found the lock full
			w.now.ops = append(w.now.ops, r)
		}
	}
	w.lost = false
}

// close ends a window. Its operations are overwritten later.
func (w *linearizability) close(done window) {
	done.cause, w.d.suspect = w.d.suspect, nil
	switch {
	case w.lost:
		w.dropped++
		if done.open {
			w.undecided++
		}
	case len(done.ops) > 0:
		w.cuts++
		w.keep(&done)
	}
}
