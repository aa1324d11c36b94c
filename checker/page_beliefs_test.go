package checker_test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file has the rows of docs/verdicts.md on belief and valid-until.

// told returns until when a reply protects its holder: certainly, and at most.
func (r *record) told(op history.Operation) (to, most int64) {
	switch {
	case op.ValidUntil > op.Return:
		return op.ValidUntil, op.ValidUntil
	case r.h.Lease == 0:
		return always, always
	case op.Asked != 0 && op.Op == history.Acquire:
		return op.Asked + r.h.Lease - r.h.Drift, op.Asked + r.h.Lease - r.h.Drift
	case op.Op == history.Acquire && 10*(op.Return-op.Call) >= r.h.Lease:
		return op.Call + r.h.Lease - r.h.Drift, op.Return + r.h.Lease - r.h.Drift
	}
	return op.Call + r.h.Lease - r.h.Drift, op.Call + r.h.Lease - r.h.Drift
}

// news is something that the client of a hold learns or does and that changes its belief.
type news struct {
	at       int64
	what     int
	op       int // -1: a crash
	to, most int64
}

// The order of events at one instant.
const (
	extended = iota
	reentered
	lostIt
	crashed
	released
)

// newsOf returns the news of a hold by time.
func (r *record) newsOf(h *pageHold) (all []news) {
	for _, w := range r.faults {
		if w.Fault == "crash-client" && w.Confirmed && w.Client == h.client && w.Start >= h.opened {
			all = append(all, news{w.Start, crashed, -1, 0, 0})
		}
	}
	for i, op := range r.ops {
		of := r.of[i]
		sibling := r.h.Kind == history.Reentrant && of != nil && of != h && of.client == h.client && op.Call >= h.opened && i > h.acquire && h.openBefore(i, op)
		refused := op.Outcome == history.NotHeld || op.Outcome == history.LostHold
		n := news{at: op.Return, op: i}
		if op.Outcome == history.OK {
			n.to, n.most = r.told(op)
		}
		switch {
		case of == h && op.Op == history.Release:
			n.at, n.what = op.Call, released
		case of == h && op.Op == history.Lost:
			n.at, n.what = op.Call, lostIt
		case of == h && op.Op == history.Extend && refused:
			n.what = lostIt
		case of == h && i != h.acquire && op.Op == history.Extend && op.Outcome == history.OK:
			n.what = extended
		case sibling && op.Outcome == history.OK && (op.Op == history.Extend || op.Op == history.Acquire):
			n.what = reentered
		default:
			continue
		}
		all = append(all, n)
	}
	slices.SortStableFunc(all, func(a, b news) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(r.turn(a), r.turn(b)), cmp.Compare(a.what, b.what), cmp.Compare(a.op, b.op))
	})
	return all
}

// turn orders what comes at one instant: a crash, answers to what was under way, answers to what took no time, and a release.
func (r *record) turn(n news) int {
	switch {
	case n.what == crashed:
		return -1
	case n.what == released:
		return 2
	case r.ops[n.op].Call == r.ops[n.op].Return:
		return 1
	}
	return 0
}

// mind is what the client of a hold believes at an instant.
type mind struct {
	now      span
	over     bool // for good, unless
	lost     bool // because of a loss: then an ok extend begins a new hold
	released bool
	before   []span
	anew     int // the extend after a loss that begins a new hold; -1: none
}

func (r *record) atFirst(h *pageHold) *mind {
	a := r.ops[h.acquire]
	to, most := r.told(a)
	return &mind{now: span{a.Return, to, most, h.acquire}, anew: -1}
}

// learn applies an event to the belief.
func (m *mind) learn(n news) {
	switch n.what {
	case extended:
		m.extend(n)
	case reentered: // does not resume a belief
		switch {
		case m.over:
		case n.at <= m.now.to:
			m.now.to, m.now.most = max(m.now.to, n.to), max(m.now.most, n.most)
		case n.at <= m.now.most:
			m.now.most = max(m.now.most, n.most)
		}
	default:
		m.lost = n.what == lostIt || n.what == released && m.lost
		m.released = m.released || n.what == released
		if !m.over {
			m.now.to, m.now.most, m.over = min(m.now.to, n.at), min(m.now.most, n.at), true
		}
	}
}

func (m *mind) extend(n news) {
	switch {
	case m.over && m.lost && !m.released && m.anew < 0:
		m.anew = n.op
		return
	case m.over:
		return
	case n.at <= max(m.now.to, m.now.from): // or it was answered before the acquire
		m.now.to, m.now.most = max(m.now.to, n.to), max(m.now.most, n.most)
		return
	default:
		m.now.most = min(m.now.most, n.at)
	}
	m.before = append(m.before, m.now)
	m.now = span{n.at, n.to, n.most, n.op}
}

// believe finds the belief of a hold, with its gaps. It returns the extend that begins a new hold, -1 if none does.
func (r *record) believe(h *pageHold) (anew int) {
	m := r.atFirst(h)
	for _, n := range r.newsOf(h) {
		m.learn(n)
	}
	h.spans = append(m.before, m.now)
	return m.anew
}

// believedAt returns what the client of a hold believes when it calls operation i.
func (r *record) believedAt(h *pageHold, i int) *mind {
	m := r.atFirst(h)
	for _, n := range r.newsOf(h) {
		if n.at <= r.ops[i].Call && n.op < i {
			m.learn(n)
		}
	}
	return m
}

// deniedEarly returns the operations whose reply said that a hold is gone while, as far as its client knew, its lease was running.
func (r *record) deniedEarly() map[int]bool {
	out := map[int]bool{}
	for _, h := range r.holds {
		m := r.atFirst(h)
		for _, n := range r.newsOf(h) {
			if n.op >= 0 && r.of[n.op] == h && !m.over {
				op := r.ops[n.op]
				refused := op.Outcome == history.NotHeld || op.Outcome == history.LostHold
				ends := m.now.to < always || op.Op == history.Release || r.h.Lease == 0 // without an end, a client holds until it learns that its lease has ended
				out[n.op] = !r.meansAnEndedOne(n.op, h) && !r.mayPrecede(n.op, h) && (n.what == lostIt || n.what == released && refused) && m.now.to > op.Return && ends
			}
			m.learn(n)
		}
	}
	return out
}

// mayPrecede reports whether a reply may have come before a hold began or after its release was called, at that instant, and so be no denial.
func (r *record) mayPrecede(i int, h *pageHold) bool {
	op := r.ops[i]
	if slices.ContainsFunc(slices.Collect(maps.Keys(r.of)), func(k int) bool {
		o := r.ops[k]
		refused := o.Outcome == history.NotHeld || o.Outcome == history.LostHold
		return k != i && r.of[k] == h && o.Op == history.Release && !refused && o.Call == op.Return
	}) {
		return true
	}
	return r.mayBeOfNone(i, h) && r.runningBefore(i) == nil
}

// mayBeOfNone reports whether a hold began at the instant of an operation without its token, so that this may have come before it.
func (r *record) mayBeOfNone(i int, h *pageHold) bool {
	op := r.ops[i]
	return r.ops[h.acquire].Call >= op.Return && (op.Token == "" || op.Token != h.token)
}

// runningBefore returns a hold that began before an operation, and that this may mean, whose lease was running.
func (r *record) runningBefore(i int) *pageHold {
	op := r.ops[i]
	at := slices.IndexFunc(r.holds, func(o *pageHold) bool {
		return o.client == op.Client && r.ops[o.acquire].Call < op.Return && o.openBefore(i, op) && mayBeOf(op, o) && r.believedAt(o, i).now.to > op.Return
	})
	if at < 0 {
		return nil
	}
	return r.holds[at]
}

// meansAnEndedOne reports whether a reply may mean another open hold of its client than h, in which the client did not believe any more.
func (r *record) meansAnEndedOne(i int, h *pageHold) bool {
	op := r.ops[i]
	if op.Token != "" && op.Token == h.token {
		return false
	}
	return r.h.Kind != history.Reentrant && slices.ContainsFunc(r.holds, func(o *pageHold) bool {
		if o == h || r.replaced(o, h) || o.client != op.Client || o.opened > op.Call || !o.openBefore(i, op) || !mayBeOf(op, o) {
			return false
		}
		m := r.atFirst(o)
		for _, n := range r.newsOf(o) {
			if n.at < op.Return || n.at == op.Return && n.op < i {
				m.learn(n)
			}
		}
		return m.over || m.now.to <= op.Return
	})
}
