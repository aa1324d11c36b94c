package checker

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// window is a stretch of one key's history that is searched by itself.
type window struct {
	from  int64  // calls before this instant count as made at it
	held  []op   // grants in force at from
	fence uint64 // highest fence granted before from
	ops   []op   // grants and refusals
	stay  []op   // grants still in force at the end of the window, which the next one ends
	open  bool   // it has a refusal that no single hold decides
	odd   []op   // the first whose beliefs conflict; nil: none do
}

// belief is what began a belief, and when that ends.
type belief struct {
	o   op
	end int64
}

func has(list []op, o *op) bool {
	return slices.ContainsFunc(list, func(x op) bool { return x.line == o.line })
}

func drop(list []op, o *op) []op {
	return slices.DeleteFunc(list, func(x op) bool { return x.line == o.line })
}

// Bounds on windows.
const (
	minWindow = 48   // operations below which a full lock does not end a window
	maxWindow = 2000 // operations beyond which a window is not searched
)

// cutting is the state while a key's history is cut into windows. There are two places to cut.
//
// At a quiet instant: nothing is called, and no hold is possible.
//
// When the lock is certainly full: at the return of a grant with which all permits, or the
// exclusive hold, are in belief and no other hold is. Then the state is known, and every grant that
// is still waiting comes after that instant: had it come before, it would have been in force at it,
// one too many. So its call may be moved there. Refusals that are waiting have found the lock full.
// Under contention there is no quiet instant, but every hand-over has an instant with a full lock.
//
// Refusals that met, at any instant between call and return, beliefs that fill the lock are left
// out. A hold is in force during its whole belief in every order, so such a refusal can be put at
// that instant into any order of the others. The instant can be chosen as its call or the start of
// a belief. Also left out are grants with an empty belief, whose reply came after their lease, and
// refusals that something else than holds may explain, see refusal.
type cutting struct {
	now    window
	belief []belief         // that have started and may still be in force
	flying []op             // called and not returned, in the window
	fence  uint64           // highest of the grants that have returned
	cover  int64            // until when a hold is possible
	own    map[uint32]int64 // by client: until when its own holds may last, which no grant to it ends
	lost   bool             // the window is too long and was dropped
	total  int
}

func (l *linearizability) called(o *op) {
	if o.granted() && l.d.k.holds.at(o.hold).belief < o.ret {
		l.empty = max(l.empty, l.d.k.holds.at(o.hold).possible)
	}
	if !l.matters(o) || o.outcome == history.Busy && l.full(o, o.call) {
		return
	}
	if len(l.flying) == 0 && l.cover < o.call && !l.d.opt.Plain {
		l.cut(o.call, nil)
	}
	l.flying = append(l.flying, *o)
	if len(l.now.ops) >= maxWindow && !l.d.opt.Plain {
		l.now.ops, l.lost = l.now.ops[:0], true
	}
	l.now.ops = append(l.now.ops, *o)
}

// matters reports whether an operation belongs in a window.
func (l *linearizability) matters(o *op) bool {
	if o.kind == history.Acquire && o.outcome == history.Busy {
		return true
	}
	end, starts := int64(0), false
	if o.kind == history.Acquire || o.kind == history.Extend {
		end, starts = l.d.k.beliefEnd(o)
	}
	return starts && end >= o.ret
}

func (l *linearizability) returned(o *op) {
	if !l.matters(o) || !has(l.flying, o) { // a refusal that met a full lock has left
		return
	}
	l.flying = drop(l.flying, o)
	if o.outcome == history.Busy {
		if l.excused(o) {
			l.now.ops = drop(l.now.ops, o)
		} else {
			l.now.open = l.now.open || l.d.a.header.Kind != history.Mutex
		}
		l.cover = max(l.cover, o.ret)
		return
	}
	l.start(o)
}

// full reports whether the beliefs at time t refuse o in any order.
func (l *linearizability) full(o *op, t int64) bool {
	n := 0
	for i := range l.belief {
		if b := &l.belief[i]; b.o.ret <= t && t <= b.end && mayRefuse(l.d.a.header.Kind, b.o.mode, o.mode) {
			n++
		}
	}
	return n >= Permits(l.d.a.header)
}

// settle leaves out the pending refusals that meet a full lock at time t.
func (l *linearizability) settle(t int64) {
	l.flying = slices.DeleteFunc(l.flying, func(o op) bool {
		idle := o.outcome == history.Busy && l.full(&o, t)
		if idle {
			l.now.ops = drop(l.now.ops, &o)
		}
		return idle
	})
}

func (l *linearizability) start(o *op) {
	h := l.d.a.header
	end, _ := l.d.k.beliefEnd(o)
	gone := l.d.k.holds.at(o.hold).possible
	lingers := false
	if h.Kind == history.RW || h.Kind == history.Reentrant { // its own holds may stand beside it
		lingers = l.own[o.client] > o.ret
		l.own[o.client] = max(l.own[o.client], gone)
	}
	if o.mode == history.Exclusive && o.granted() {
		l.fence = max(l.fence, l.d.k.fence(o))
	}
	l.belief = slices.DeleteFunc(l.belief, func(b belief) bool { return b.end <= o.ret })
	if o.mode == history.Exclusive && Permits(h) == 1 && !lingers && len(l.belief) == 0 {
		l.cover = min(l.cover, o.ret) // what was possible before has ended
	}
	l.conflict(o)
	l.cover = max(l.cover, gone, end)
	l.belief = append(l.belief, belief{*o, end})
	l.settle(o.ret)
	full := !lingers && end > o.ret && len(l.belief) == Permits(h) && (o.mode == history.Exclusive || h.Kind != history.RW)
	// Pending operations are carried over: with twice as many finished, carrying costs less than
	// searching.
	if full && len(l.now.ops) >= minWindow+2*len(l.flying) && !l.d.opt.Plain {
		var held []op
		for _, b := range l.belief {
			held = append(held, b.o)
		}
		l.cut(o.ret, held)
	}
}

// conflict notes with which beliefs a new one conflicts, the first time in a window.
func (l *linearizability) conflict(o *op) {
	var with []op
	for _, b := range l.belief {
		if Conflict(l.d.a.header.Kind, b.o.client == o.client, b.o.mode, o.mode) {
			with = append(with, b.o)
		}
	}
	if l.now.odd == nil && len(with) >= Permits(l.d.a.header) {
		l.now.odd = append(with, *o)
	}
}

// cut ends the window at an instant at which held are in force, and begins the next.
func (l *linearizability) cut(t int64, held []op) {
	done := l.now
	done.stay = held
	done.ops = slices.DeleteFunc(done.ops, func(o op) bool { return has(l.flying, &o) })
	l.close(&done)
	l.now = window{from: t, held: held, fence: l.fence, ops: done.ops[:0]}
	for _, o := range l.flying {
		if o.outcome == history.OK { // a refusal has found the lock full
			l.now.ops = append(l.now.ops, o)
		}
	}
	l.lost = false
}

// close ends a window. Its operations are overwritten later.
func (l *linearizability) close(done *window) {
	switch {
	case l.lost:
		l.total++
		l.skip(done)
	case len(done.ops) > 0:
		l.total++
		l.search(done)
	}
}

func newCutting() cutting {
	return cutting{cover: math.MinInt64, now: window{from: math.MinInt64}, own: map[uint32]int64{}}
}
