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
	open  bool   // it has a refusal that no single hold explains
	odd   []op   // the first operations whose beliefs conflict; nil: none do
	lost  bool   // it is too long, and its operations were dropped
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
	own    map[uint32]int64 // by client: until when its holds are possible; a grant to it ends none of them
	empty  int64            // until when holds are possible whose belief was over when the reply came; no window has them
	total  int              // windows so far

	in     *keyInput
	search func(w *window) // whose operations are overwritten later
}

func newCutting(d *keyInput) cutting {
	return cutting{in: d, cover: math.MinInt64, empty: math.MinInt64, now: window{from: math.MinInt64}, own: map[uint32]int64{}}
}

func (c *cutting) called(o *op) {
	if o.granted() && c.in.k.holds.at(o.hold).belief < o.ret {
		c.empty = max(c.empty, c.in.k.holds.at(o.hold).possible)
	}
	if !c.matters(o) || o.outcome == history.Busy && c.full(o, o.call) {
		return
	}
	if len(c.flying) == 0 && c.cover < o.call && !c.in.opt.Plain {
		c.cut(o.call, nil)
	}
	c.flying = append(c.flying, *o)
	if len(c.now.ops) >= maxWindow && !c.in.opt.Plain {
		c.now.ops, c.now.lost = c.now.ops[:0], true
	}
	c.now.ops = append(c.now.ops, *o)
}

// matters reports whether an operation belongs in a window.
func (c *cutting) matters(o *op) bool {
	if o.kind == history.Acquire && o.outcome == history.Busy {
		return true
	}
	end, starts := int64(0), false
	if o.kind == history.Acquire || o.kind == history.Extend {
		end, starts = c.in.k.beliefEnd(o)
	}
	return starts && end >= o.ret
}

func (c *cutting) returned(o *op) {
	if !c.matters(o) || !has(c.flying, o) { // a refusal that met a full lock has left
		return
	}
	c.flying = drop(c.flying, o)
	if o.outcome == history.Busy {
		if c.excused(o) {
			c.now.ops = drop(c.now.ops, o)
		} else {
			c.now.open = c.now.open || c.in.a.header.Kind != history.Mutex
		}
		c.cover = max(c.cover, o.ret)
		return
	}
	c.start(o)
}

// full reports whether the beliefs at time t refuse o in any order.
func (c *cutting) full(o *op, t int64) bool {
	n := 0
	for i := range c.belief {
		if b := &c.belief[i]; b.o.ret <= t && t <= b.end && mayRefuse(c.in.a.header.Kind, b.o.mode, o.mode) {
			n++
		}
	}
	return n >= Permits(c.in.a.header)
}

// settle leaves out the pending refusals that meet a full lock at time t.
func (c *cutting) settle(t int64) {
	c.flying = slices.DeleteFunc(c.flying, func(o op) bool {
		idle := o.outcome == history.Busy && c.full(&o, t)
		if idle {
			c.now.ops = drop(c.now.ops, &o)
		}
		return idle
	})
}

func (c *cutting) start(o *op) {
	h := c.in.a.header
	end, _ := c.in.k.beliefEnd(o)
	gone := c.in.k.holds.at(o.hold).possible
	lingers := false
	if h.Kind == history.RW || h.Kind == history.Reentrant { // its own holds may stand beside it
		lingers = c.own[o.client] > o.ret
		c.own[o.client] = max(c.own[o.client], gone)
	}
	if o.mode == history.Exclusive && o.granted() {
		c.fence = max(c.fence, c.in.k.fence(o))
	}
	c.belief = slices.DeleteFunc(c.belief, func(b belief) bool { return b.end <= o.ret })
	if o.mode == history.Exclusive && Permits(h) == 1 && !lingers && len(c.belief) == 0 {
		c.cover = min(c.cover, o.ret) // what was possible before has ended
	}
	c.conflict(o)
	c.cover = max(c.cover, gone, end)
	c.belief = append(c.belief, belief{*o, end})
	c.settle(o.ret)
	full := !lingers && end > o.ret && len(c.belief) == Permits(h) && (o.mode == history.Exclusive || h.Kind != history.RW)
	// Pending operations are carried over: with twice as many finished, carrying costs less than
	// searching.
	if full && len(c.now.ops) >= minWindow+2*len(c.flying) && !c.in.opt.Plain {
		var held []op
		for _, b := range c.belief {
			held = append(held, b.o)
		}
		c.cut(o.ret, held)
	}
}

// conflict notes with which beliefs a new one conflicts, the first time in a window.
func (c *cutting) conflict(o *op) {
	var with []op
	for _, b := range c.belief {
		if Conflict(c.in.a.header.Kind, b.o.client == o.client, b.o.mode, o.mode) {
			with = append(with, b.o)
		}
	}
	if c.now.odd == nil && len(with) >= Permits(c.in.a.header) {
		c.now.odd = append(with, *o)
	}
}

// cut ends the window at an instant at which held are in force, and begins the next.
func (c *cutting) cut(t int64, held []op) {
	done := c.now
	done.stay = held
	done.ops = slices.DeleteFunc(done.ops, func(o op) bool { return has(c.flying, &o) })
	c.close(&done)
	c.now = window{from: t, held: held, fence: c.fence, ops: done.ops[:0]}
	for _, o := range c.flying {
		if o.outcome == history.OK { // a refusal has found the lock full
			c.now.ops = append(c.now.ops, o)
		}
	}
}

// close ends a window. Its operations are overwritten later.
func (c *cutting) close(done *window) {
	if done.lost || len(done.ops) > 0 {
		c.total++
		c.search(done)
	}
}

// excused reports whether something else than the holds in a window may explain a refusal: any
// reason for which the property refusal does not judge it, or a grant that no window has.
func (c *cutting) excused(o *op) bool {
	h := c.in.a.header
	return h.Votes || h.FIFO || c.empty >= o.call || c.in.ghostFor(o) || c.in.ev.excusedAnswer(c.in.a.client(o), o.call, o.ret)
}
