package checker

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// linearizability: Porcupine finds an order of the grants, the ends of holds and the refusals,
// under the model of model.go. It asks for all of them together what the other rules ask for each.
//
// It searches the windows in which beliefs conflict, up to a number for each key; those with a
// refusal that no single hold explains, which mutexes do not have; and a random sample of the
// others. An opportunity is a window that was searched. Windows that are too long, or whose search
// took too many moves, are counted, and those of them with such a refusal are not judged. Porcupine
// takes clocks to be exact: with a clock error, a window without an order decides nothing.
//
// There are two places to cut a key's history into windows.
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
type linearizability struct {
	tally
	now    window
	belief []belief         // that have started and may still be in force
	flying []op             // called and not returned, in the window
	fence  uint64           // highest of the grants that have returned
	cover  int64            // until when a hold is possible
	own    map[uint32]int64 // by client: until when its holds are possible; a grant to it ends none of them
	empty  int64            // until when holds are possible whose belief was over when the reply came; no window has them

	moves int64 // moves left
	rand  *rand.Rand
	plain int // windows of no interest so far
	odd   int // windows with conflicting beliefs that were searched
}

// belief is what began a belief, and when that ends.
type belief struct {
	o   op
	end int64
}

// Bounds on windows and on the search.
const (
	minWindow = 48         // operations below which a full lock does not end a window
	maxWindow = 2000       // operations beyond which a window is not searched
	maxSteps  = 400_000    // moves tried in a window; at most some 120 MB of states
	maxMoves  = 10_000_000 // moves tried in all, so that what is searched does not depend on the machine
	suspects  = 64         // windows with conflicting beliefs, per key
	samples   = 64         // windows of no interest that are searched in any case, in all; of others fewer and fewer
)

func newLinearizability(d *keyInput) *linearizability {
	l := &linearizability{tally: d.tallyOf(verdicts.Linearizability, !d.opt.Unsearched, "not asked for"),
		now: window{from: math.MinInt64}, cover: math.MinInt64, empty: math.MinInt64, own: map[uint32]int64{},
		moves: maxMoves / int64(len(d.a.keys)), rand: rand.New(rand.NewPCG(d.opt.Seed, uint64(d.k.number)))}
	if l.applies && d.k.count(history.Acquire, history.OK, history.Busy) == 0 {
		l.applies, l.note = false, "nothing was granted or refused"
	}
	return l
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
		l.now.ops, l.now.lost = l.now.ops[:0], true
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
	if o.outcome != history.Busy {
		l.start(o)
		return
	}
	h := l.d.a.header
	// something else than the holds in a window may explain it: a reason for which the property
	// refusal does not judge it, or a grant that no window has
	if h.Votes || h.FIFO || l.empty >= o.call || l.d.ghostFor(o) || l.d.ev.excusedAnswer(l.d.a.client(o), o.call, o.ret) {
		l.now.ops = drop(l.now.ops, o)
	} else {
		l.now.open = l.now.open || h.Kind != history.Mutex
	}
	l.cover = max(l.cover, o.ret)
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

// start begins a belief.
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
	var with []op
	for _, b := range l.belief {
		if Conflict(h.Kind, b.o.client == o.client, b.o.mode, o.mode) {
			with = append(with, b.o)
		}
	}
	if l.now.odd == nil && len(with) >= Permits(h) {
		l.now.odd = append(with, *o)
	}
	l.cover = max(l.cover, gone, end)
	l.belief = append(l.belief, belief{*o, end})
	l.flying = slices.DeleteFunc(l.flying, func(f op) bool { // refusals that meet a full lock now
		idle := f.outcome == history.Busy && l.full(&f, o.ret)
		if idle {
			l.now.ops = drop(l.now.ops, &f)
		}
		return idle
	})
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

// cut ends the window at an instant at which held are in force, and begins the next.
func (l *linearizability) cut(t int64, held []op) {
	done := l.now
	done.stay = held
	done.ops = slices.DeleteFunc(done.ops, func(o op) bool { return has(l.flying, &o) })
	l.judge(&done)
	l.now = window{from: t, held: held, fence: l.fence, ops: done.ops[:0]}
	for _, o := range l.flying {
		if o.outcome == history.OK { // a refusal has found the lock full
			l.now.ops = append(l.now.ops, o)
		}
	}
}

// judge has a window searched if it is of interest, or drawn. Its operations are overwritten later.
func (l *linearizability) judge(w *window) {
	if !w.lost && len(w.ops) == 0 {
		return
	}
	l.windows++
	few := max(1, samples/len(l.d.a.keys))
	switch {
	case w.lost:
		l.skip(w)
		return
	case w.open || l.d.opt.Plain:
	case w.odd != nil && l.odd < suspects:
		l.odd++
	case w.odd != nil:
		l.skip(w)
		return
	default:
		if l.plain++; l.plain > few && l.rand.IntN(l.plain) >= few {
			return
		}
	}
	most := min(maxSteps, l.moves)
	if l.d.opt.Plain {
		most = math.MaxInt64
	}
	found, tried := w.search(l.d, most)
	l.moves -= tried
	switch {
	case found == porcupine.Unknown:
		l.skip(w)
	case found == porcupine.Illegal && l.d.uses("search"):
		l.report(w)
	default:
		l.opportunity(w.ops[0].call, w.ops[len(w.ops)-1].ret)
	}
}

// skip counts a window that should have been searched.
func (l *linearizability) skip(w *window) {
	l.skipped++
	if w.open {
		l.unjudged(notSearched)
	}
}

// report reports a window without an order, by the beliefs that conflict in it if any do.
func (l *linearizability) report(w *window) {
	of := w.odd
	if of == nil {
		of = slices.Concat(w.held, w.ops[:min(len(w.ops), minWindow)])
	}
	v := Violation{At: w.ops[0].call, Lasted: w.ops[len(w.ops)-1].ret - w.ops[0].call, WithinClockError: l.d.a.header.ClockError > 0, Clients: l.d.names(of...)}
	if w.odd != nil {
		last := &of[len(of)-1]
		end, _ := l.d.k.beliefEnd(last)
		v.At, v.Lasted = last.ret, 0
		for i := range of[:len(of)-1] {
			until, _ := l.d.k.beliefEnd(&of[i])
			v.Lasted = max(v.Lasted, min(end, until)-last.ret)
		}
	}
	l.found(v, of)
}

func (l *linearizability) done() {
	l.judge(&l.now)
	if l.windows == 0 { // what was granted was over when the reply came
		l.unjudged(notSearched)
	}
}
