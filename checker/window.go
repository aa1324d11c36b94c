package checker

import (
	"math/rand/v2"
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
	cause *Violation
}

// clone makes a copy that can be kept.
func (w window) clone() window {
	w.ops = slices.Clone(w.ops)
	return w
}

func (w *window) stays(r *record) bool { return slices.Contains(w.stay, r) }

// Bounds on windows.
const (
	minWindow = 48   // operations below which a full lock does not end a window
	maxWindow = 2000 // operations beyond which a window is not searched
	suspects  = 64   // windows with a violation that are searched, per key
	samples   = 64   // windows without one that are searched, in all
)

// windows cuts a key's history into windows while it passes by. There are two places to cut.
//
// At a quiet instant: nothing is called, and no hold is possible.
//
// When the lock is full for certain: at the return of a grant with which all permits, or the exclusive hold, are in belief and nobody
// else is. Then the state is known, and every grant that is still waiting comes after that instant: had it come before, it would have been in
// force at it, one too many. So its call may be moved there. Refusals that are waiting have found the lock full.
// Under contention there is no quiet instant, but there is a full lock in every hand-over.
//
// Refusals that lie wholly within a belief that fills the lock are left out: they are legal in any order. So are grants with an empty belief,
// whose reply came after their lease, and refusals that something else excuses.
type windows struct {
	d       *docket
	now     window
	belief  []interval     // beliefs that have started and may still be in force
	flying  []*record      // called and not returned: those of the window
	fence   uint64         // highest of the grants that have returned
	cover   int64          // until when a hold is possible
	lost    bool           // the window is too long and was dropped
	refused *refusal       // knows which refusals are excused
	keep    func(w window) // its operations are overwritten after that: what is kept must be cloned
	dropped int
	cuts    int
}

func (w *windows) called(r *record) {
	if r.op != history.Acquire && r.op != history.Extend || !w.d.k.matters(r) {
		return
	}
	if len(w.flying) == 0 && w.cover < r.call && !w.d.opt.Plain {
		w.cut(r.call, nil)
	}
	w.flying = append(w.flying, r)
	w.add(r)
}

// matters tells which records a window is made of.
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

func (w *windows) add(r *record) {
	if len(w.now.ops) >= maxWindow && !w.d.opt.Plain {
		w.now.ops, w.lost = w.now.ops[:0], true
	}
	w.now.ops = append(w.now.ops, r)
}

func (w *windows) returned(r *record) {
	if r.op != history.Acquire && r.op != history.Extend || !w.d.k.matters(r) {
		return
	}
	i := slices.Index(w.flying, r)
	w.flying[i] = w.flying[len(w.flying)-1]
	w.flying = w.flying[:len(w.flying)-1]
	if r.outcome == history.Busy {
		if w.idle(r) {
			w.drop(r)
		}
		w.cover = max(w.cover, r.ret)
		return
	}
	w.start(r)
}

// idle tells that refusal r cannot make a difference.
func (w *windows) idle(r *record) bool {
	if w.refused.excused(r) {
		return true
	}
	within := func(b interval) bool {
		return b.start < r.call && r.ret < b.end && (b.r.mode == history.Exclusive || r.mode == history.Exclusive)
	}
	return w.permits() == 1 && slices.ContainsFunc(w.belief, within)
}

func (w *windows) drop(r *record) {
	for i := len(w.now.ops) - 1; i >= 0; i-- { // it was added lately
		if w.now.ops[i] == r {
			w.now.ops = slices.Delete(w.now.ops, i, i+1)
			return
		}
	}
}

func (w *windows) permits() int {
	if w.d.a.header.Kind == history.Semaphore {
		return max(w.d.a.header.Permits, 1)
	}
	return 1
}

func (w *windows) start(r *record) {
	d := w.d.k.detailOf(r)
	if r.mode == history.Exclusive {
		w.fence = max(w.fence, d.fence)
	}
	if r.mode == history.Exclusive && w.permits() == 1 && !slices.ContainsFunc(w.belief, func(b interval) bool { return b.end > r.ret }) {
		w.cover = min(w.cover, r.ret) // what was possible before is over
	}
	w.cover = max(w.cover, d.gone, r.ret)
	w.belief = append(slices.DeleteFunc(w.belief, func(b interval) bool { return b.end <= r.ret }), interval{r, r.ret, d.end})
	full := d.end > r.ret && len(w.belief) == w.permits() && (r.mode == history.Exclusive || w.d.a.header.Kind != history.RW)
	// What is waiting is carried over: with twice as many done, carrying costs less than searching.
	if full && len(w.now.ops) >= minWindow+2*len(w.flying) && !w.d.opt.Plain {
		var held []*record
		for _, b := range w.belief {
			held = append(held, b.r)
		}
		w.cut(r.ret, held)
	}
}

// cut ends the window at an instant at which held are in force, and begins the next.
func (w *windows) cut(t int64, held []*record) {
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

func (w *windows) close(done window) {
	done.cause, w.d.suspect = w.d.suspect, nil
	switch {
	case w.lost:
		w.dropped++
	case len(done.ops) > 0:
		w.cuts++
		w.keep(done)
	}
}

// sample keeps n of what it is offered, each with the same chance.
type sample struct {
	n    int
	seen int
	rand *rand.Rand
	kept []window
}

func (s *sample) offer(w window) {
	s.seen++
	if len(s.kept) < s.n {
		s.kept = append(s.kept, w.clone())
	} else if i := s.rand.IntN(s.seen); i < s.n {
		s.kept[i] = w.clone()
	}
}
