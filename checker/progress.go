package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// progress: a client that wants a free lock gets it. A wait is an acquire, or several failed ones
// of a client in one mode and the one after them: no more than the grace apart or, after a refusal,
// if the two take no longer together than a lease and the grace. It is broken if for longer than a
// lease and the grace no conflicting hold was possible and the waiter was not granted. A lock that
// wakes its waiters (header wakeups) has one second in place of that, if no fault was active in the
// lease before; the time of the waiter's own requests, and that between its calls, is added, because
// nothing can wake it then.
//
// A writer that waits may keep readers out. A hold counts until its lease ends or it is released;
// where nothing expires, until its client tried to release it or crashed; renewals after that are
// for nobody and don't count. A fault of the waiter, or of a node that its commands went to, cuts a
// stretch in two.
//
// An opportunity is a wait. Limits: whether a client wants the lock between two tries is not seen;
// one that waits at the end of the record is judged by what it had asked until then.
type progress struct {
	tally
	limit int64            // the longest lawful stretch
	least int64            // the shortest that may be too long
	free  [2][]Span        // by mode of those who ask: the stretches longer than least in which nobody could hold
	waits map[uint32]*wait // by client
}

// wait is a wait under way.
type wait struct {
	on          bool
	first, last op
	between     []Span // its calls, of a lock that wakes its waiters
	excused     bool   // it was too long, but for a fault
	broken      bool
}

// grace is for how many nanoseconds beyond a lease a wanted lock may stay free; where the lease is
// longer, another lease. A lock that wakes its waiters has the grace alone: a message and a request
// take far less, and even a busy machine runs a ready process sooner.
const grace = 1_000_000_000

func newProgress(d *keyInput) *progress {
	h, tries := d.a.header, d.k.count(history.Acquire, history.OK, history.Busy, history.Fail)
	p := &progress{tally: d.tallyOf(verdicts.Progress, tries > 0, "nobody asked for it"), limit: plus(h.Lease, max(h.Lease, grace)), waits: map[uint32]*wait{}}
	if p.least = p.limit; h.Wakeups {
		p.least = min(p.limit, cmp.Or(d.opt.HandOver, grace))
	}
	p.free[history.Exclusive] = d.stretches(p.least, history.Exclusive)
	if p.free[history.Shared] = p.free[history.Exclusive]; h.Kind == history.RW {
		p.free[history.Shared] = d.stretches(p.least, history.Shared)
	}
	return p
}

func (p *progress) returned(o *op) {
	if o.kind != history.Acquire {
		return
	}
	w := p.waits[o.client]
	if w == nil {
		w = &wait{}
		p.waits[o.client] = w
	}
	goesOn := o.call <= plus(w.last.ret, grace)
	if w.last.outcome == history.Busy { // a longer stretch then has a whole try
		goesOn = o.ret <= plus(w.last.call, p.limit)
	}
	if w.on && !(goesOn && o.mode == w.last.mode) {
		p.end(w)
	}
	switch {
	case !w.on:
		*w = wait{first: *o, on: true}
	case p.d.a.header.Wakeups && o.call > w.last.ret:
		w.between = append(w.between, Span{w.last.ret, o.call})
	}
	w.last = *o
	if !w.broken {
		p.judge(w)
	}
	if o.outcome == history.OK || o.outcome == history.Unknown { // which may have been granted
		p.end(w)
	}
}

func (p *progress) done() {
	for _, w := range p.waits {
		if w.on {
			p.end(w)
		}
	}
}

// end counts a wait.
func (p *progress) end(w *wait) {
	w.on = false
	switch {
	case w.broken:
	case w.excused:
		p.unjudged(metAFault)
	case w.first.outcome == history.Unknown:
		p.unjudged(unknownOutcomes)
	default:
		p.opportunity(w.first.call, w.last.ret)
	}
}

// judge reports a wait that has become too long.
func (p *progress) judge(w *wait) {
	client, free := p.d.a.client(&w.last), p.free[w.last.mode]
	at, _ := slices.BinarySearchFunc(free, w.first.call, endsBefore)
	for ; at < len(free) && free[at].From < w.last.ret; at++ {
		s := Span{max(free[at].From, w.first.call), min(free[at].To, w.last.ret)}
		for _, part := range p.d.served(client, s) {
			late := part.To - part.From - p.limitOf(w, part)
			if part.To-part.From < p.least || late < 0 || !p.d.uses("free-but-refused") {
				continue
			}
			w.broken = true
			v := Violation{At: part.From, Lasted: part.To - part.From, Clients: []string{client}, WithinClockError: late < 2*p.d.a.header.ClockError, grantBy: part.From}
			p.found(v, nil, w.first, w.last)
			return
		}
		w.excused = w.excused || s.To-s.From >= p.limitOf(w, s)
	}
}

// limitOf returns for how long the lock may be free and wanted by a waiter in a stretch.
func (p *progress) limitOf(w *wait, s Span) int64 {
	h := p.d.a.header
	faulty := func(f history.Window) bool { return Excuses(&f) && p.d.ev.meets(&f, s.From-h.Lease, s.To) }
	if !h.Wakeups || slices.ContainsFunc(p.d.ev.faults, faulty) {
		return p.limit
	}
	limit := p.least
	if p.d.opt.HandOver == 0 {
		asked := p.d.ev.commandsOf(p.d.a.client(&w.last), s.From-p.limit, s.To)
		limit = grace + history.UnderWay(asked, s.From, s.To)
	}
	for _, b := range w.between {
		limit += max(0, min(b.To, s.To)-max(b.From, s.From))
	}
	return min(p.limit, limit)
}
