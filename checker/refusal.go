package checker

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// refusal: no attempt is refused as busy while no client can have held the lock.
//
// A hold may have begun as early as its acquire was called, and lasted until its release returned, or, if it was not certainly released, until its
// lease had certainly ended on the server. It cannot have lasted beyond the next grant of a conflicting hold. A refusal needs one such possible hold
// that meets its [call, return]; for permits, as many as there are permits.
//
// Why no finer test is needed for a mutex: between two consecutive holds only the instants between the release R of the first and the acquire A of
// the second are free. R and A can be chosen so that these are as few as possible, independently for each pair: both at one instant if [release.call,
// release.return] and [acquire.call, acquire.return] meet, otherwise R = release.return and A = acquire.call. A grant that has not returned can be a
// witness only if it is the next to return. So one execution explains all refusals exactly if each of them has a witness.
//
// A refusal has other excuses: an acquire of unknown outcome, which may take effect once, at any later time (if nothing expires and no client cleans
// up, not before the last grant, which it would have prevented; if leases end it is one hold at one time, so that it excuses no refusals further
// apart than a lease, or with a grant between them); a client that crashed during an unrecorded request; a grant whose reply came after its lease,
// which held, and ended, before it was the next to return, or which, by its commands, was taken back; and, if the header says so, an attempt of
// another client, whatever came of it: one that may still have votes, or one that was called earlier and is under way.
//
// An opportunity is a refusal.
//
// Limits: for shared and exclusive locks, permits and re-entrant locks the test is necessary, not sufficient: each refusal has a witness by itself,
// but perhaps no order gives all of them theirs, as when a refusal needs two permits taken that were taken one after the other. Such refusals are
// decided by the search of their window; linearizability says so if it could not. A server clock that is set back makes holds longer than the test
// allows; that is reported, and is a clock-jump.
type refusal struct {
	tally
	shared  witness // possible shared holds: they refuse exclusive attempts
	writers witness // possible exclusive holds: they refuse every attempt
	permits *largest
	lost    [2][]*record    // by mode: acquires of unknown outcome that excuse nothing yet
	lostAt  placement       // of the one that excuses the current refusals
	votes   ends            // by client: until when the votes that its attempts got may stay
	queue   []*record       // attempts under way, in a lock that grants in order of arrival
	behind  map[uint32]bool // by client: whether its last attempt was not the first of these
	late    int64           // until when a grant is pending whose reply comes after its lease
	empty   int64           // until when a grant may hold whose belief had ended when its reply came
	open    []*record       // refusals whose only witness can be the next grant to return
}

func newRefusal(d *keyInput) *refusal {
	r := &refusal{tally: d.tallyOf(verdicts.Refusal, d.k.count(history.Acquire, history.Busy) > 0, "nobody was refused"), behind: map[uint32]bool{}}
	r.late, r.empty = math.MinInt64, math.MinInt64
	r.shared, r.writers = witness{gone: math.MinInt64, end: math.MinInt64}, witness{gone: math.MinInt64, end: math.MinInt64}
	if n := Permits(d.a.header); n > 1 {
		r.permits = &largest{n: n}
	}
	return r
}

// takenBack reports whether a failed attempt may have held for a while: a reply took longer than the lease, and a lock that checks the time then
// takes back what it was granted.
func takenBack(d *keyInput, r *record) bool {
	valid := d.a.header.Lease - slack(d.a.header) // a lock gives some of the lease away for drift
	if d.a.header.Lease == 0 || r.ret-r.call < valid {
		return false
	}
	sent := d.ev.commandsOf(d.clientName(r), r.call, r.ret)
	return slices.ContainsFunc(sent, func(c history.Command) bool { return c.Replied == 0 || c.Replied-c.Sent >= valid })
}

// witness has the possible holds that refuse a mode, at an instant of the walk.
type witness struct {
	inFlight []int64          // grants that were called and have not returned: from when on each can have held
	gone     int64            // until when the holds that have started may last
	end      int64            // until when the last of them certainly does
	own      map[uint32]int64 // shared and exclusive locks, by client: until when its own hold may last, which no grant to it ends
}

// cut records that a conflicting hold started: those before it have ended by now, unless they overlap.
func (w *witness) cut(client uint32, now int64) {
	if own, held := w.own[client]; w.end <= now && (!held || own <= now) {
		w.gone = min(w.gone, now)
	}
}

// pending counts the grants that have not returned and can have held by an instant.
func (w *witness) pending(by int64) (n int) {
	for _, from := range w.inFlight {
		if from <= by {
			n++
		}
	}
	return n
}

// start adds a hold that has started.
func (w *witness) start(d, h *detail) { w.gone, w.end = max(w.gone, h.gone), max(w.end, d.end) }

// of returns the witness to which holds of a mode belong.
func (f *refusal) of(m history.Mode) *witness {
	if m == history.Shared {
		return &f.shared
	}
	return &f.writers
}

func (f *refusal) called(r *record) {
	if !f.applies || r.op != history.Acquire {
		return
	}
	switch {
	case r.granted() && f.d.k.detailOf(r).role == starts:
		w := f.of(r.mode)
		w.inFlight = append(w.inFlight, f.d.k.from(r))
		if f.permits == nil && f.d.k.detailOf(r).end < r.ret { // of several permits it is one, as it is in flight and then possible
			f.late = max(f.late, r.ret)
		}
	case r.outcome == history.Unknown:
		f.lost[r.mode] = append(f.lost[r.mode], r)
	case (r.outcome == history.Busy || r.outcome == history.Fail) && takenBack(f.d, r):
		f.late = max(f.late, r.ret)
	}
	if f.d.a.header.Votes {
		f.votes.add(interval{r: r, end: f.votesUntil(r)}, r.client)
	}
	if f.d.a.header.FIFO {
		f.enqueue(r)
	}
}

func (f *refusal) returned(r *record) {
	if !f.applies || r.op != history.Acquire && r.op != history.Extend {
		return
	}
	if r.op == history.Acquire {
		f.leaveQueue(r)
	}
	switch {
	case r.outcome == history.Busy && r.op == history.Acquire:
		f.opportunity(r.call, r.ret)
		f.refused(r)
	case r.outcome == history.OK && f.d.k.detailOf(r).role == starts:
		f.started(r)
	}
}

// refused judges a refusal, or leaves it to the next grant.
func (f *refusal) refused(b *record) {
	switch {
	case f.witnessed(b):
	case f.single() && f.writers.pending(b.ret) > 0:
		f.open = append(f.open, b)
	default:
		f.report(b)
	}
}

// single reports whether holds follow one another, so that of the pending grants only the first to return can have held.
func (f *refusal) single() bool { return f.permits == nil && f.d.a.header.Kind != history.RW }

// settle judges the refusals that wait for a grant, by when it can have held at the earliest.
func (f *refusal) settle(from int64) {
	for _, b := range f.open {
		if from > b.ret {
			f.report(b)
		}
	}
	f.open = f.open[:0]
}

// placement is when the hold of an acquire of unknown outcome can have begun: one interval for all that it excuses.
type placement struct {
	from, to int64
	r        *record // nil = none
}

// placed reports whether an acquire of unknown outcome excuses refusal b: the one that excused those before it, unless that would need two times or a
// grant came between, or else one that has excused nothing.
func (f *refusal) placed(b *record) bool {
	if f.d.a.header.Lease == 0 {
		return f.excusedByUnknown(b)
	}
	error := f.d.a.header.ClockError
	from, to := b.call-error-f.d.a.header.Lease-slack(f.d.a.header), b.ret+error
	if p := &f.lostAt; p.r != nil && mayRefuse(f.d.a.header.Kind, p.r.mode, b.mode) && max(p.from, from) <= min(p.to, to) {
		p.from, p.to = max(p.from, from), min(p.to, to)
		return true
	}
	for m, lost := range f.lost {
		if i := slices.IndexFunc(lost, func(u *record) bool { return u.call <= to }); i >= 0 && mayRefuse(f.d.a.header.Kind, lost[i].mode, b.mode) {
			f.lostAt = placement{max(lost[i].call, from), to, lost[i]}
			f.lost[m] = slices.Delete(lost, i, i+1)
			return true
		}
	}
	return false
}

func (f *refusal) report(b *record) {
	if f.amongAttempts(b) {
		return
	}
	if f.placed(b) {
		f.opportunities--
		f.leave(b, unknownOutcomes)
		return
	}
	if !f.d.obeys("busy-witness") {
		return
	}
	f.found(Violation{At: b.ret, Clients: []string{f.d.clientName(b)}}, func() Witness { return f.d.witness(f.d.grantBefore(b, b.call), b) })
}

func (f *refusal) started(r *record) {
	d, w, from := f.d.k.detailOf(r), f.of(r.mode), f.d.k.from(r)
	f.settle(from)
	if r.op == history.Acquire {
		i := slices.Index(w.inFlight, from)
		w.inFlight = slices.Delete(w.inFlight, i, i+1)
	}
	f.writers.cut(r.client, r.ret)
	if r.mode == history.Exclusive {
		f.shared.cut(r.client, r.ret)
	}
	h := f.d.holdOf(r)
	w.start(d, h)
	if f.d.a.header.Kind == history.RW {
		if w.own == nil {
			w.own = map[uint32]int64{}
		}
		if own, held := w.own[r.client]; !held || own < h.gone {
			w.own[r.client] = h.gone
		}
	}
	if f.empty = min(f.empty, r.ret); d.end < r.ret {
		f.empty = max(f.empty, h.gone)
	}
	if f.permits != nil && h.began == r {
		f.permits.add(h.gone)
	}
	if f.permits == nil {
		f.lostAt.r = nil
	}
}

func (f *refusal) witnessed(b *record) bool {
	if f.excusedByRecord(b) {
		return true
	}
	from := b.call - f.d.a.header.ClockError
	if f.permits != nil {
		return f.writers.pending(b.ret)+f.permits.atLeast(from) >= f.permits.n
	}
	w := &f.writers
	if b.mode == history.Exclusive && (f.shared.pending(b.ret) > 0 || f.shared.gone >= from) {
		return true
	}
	return !f.single() && w.pending(b.ret) > 0 || w.gone >= from
}

// excusedByRecord reports whether a grant whose reply came late, a crash or a split vote excuses refusal b.
func (f *refusal) excusedByRecord(b *record) bool {
	return f.late >= b.call || f.d.k.diedHolding(b) || f.votesLeft(b) || f.behind[b.client]
}

// votesUntil returns until when the votes that an attempt got may stay: until they are taken back, or for a lease.
func (f *refusal) votesUntil(r *record) int64 {
	if r.outcome == history.Unknown {
		return never
	}
	return plus(r.ret, keep(f.d.a.header))
}

// votesLeft reports whether votes for an attempt of another client may refuse b.
func (f *refusal) votesLeft(b *record) bool {
	other := f.votes.longestBut(b.client)
	return other.r != nil && other.end >= b.call-f.d.a.header.ClockError
}

// amongAttempts reports whether an attempt of another client that is not known to have come before refusal b may have done so within the clock error:
// one called after it or, where the order of arrival counts, after its call, or one that was over before.
func (f *refusal) amongAttempts(b *record) (found bool) {
	h := f.d.a.header
	if h.ClockError == 0 || !h.Votes && !h.FIFO {
		return false
	}
	to := b.call
	if h.Votes {
		to = b.ret
	}
	f.d.k.records(b.call-h.ClockError, to+h.ClockError, func(o *record) {
		found = found || o.op == history.Acquire && o.client != b.client
	})
	return found
}

// enqueue adds an attempt to those under way, in a lock that grants in order of arrival. Any of them that was called before a refused one, or at the
// same instant, comes first.
func (f *refusal) enqueue(r *record) {
	f.behind[r.client] = false
	for _, w := range f.queue {
		if w.client != r.client {
			f.behind[r.client] = true
			f.behind[w.client] = f.behind[w.client] || w.call == r.call
		}
	}
	f.queue = append(f.queue, r)
}

// leaveQueue removes an attempt with a known outcome.
func (f *refusal) leaveQueue(r *record) {
	if r.outcome != history.Unknown {
		f.queue = slices.DeleteFunc(f.queue, func(w *record) bool { return w == r })
	}
}

// excusedFromSearch reports whether the excuse of refusal b is one that no window contains: one of the record, or a grant whose belief had ended when
// its reply came, because the server counts its lease from the grant.
func (f *refusal) excusedFromSearch(b *record) bool { return f.excusedByRecord(b) || f.empty >= b.call }

// excusedByUnknown reports whether an acquire of unknown outcome excuses refusal b.
func (f *refusal) excusedByUnknown(b *record) bool {
	lost := func(of []*record) bool { return len(of) > 0 && mayRefuse(f.d.a.header.Kind, of[0].mode, b.mode) }
	return slices.ContainsFunc(f.lost[:], lost) && (f.d.a.header.Kind != history.Mutex || f.d.a.header.Lease > 0 || f.d.k.cleanups || f.d.k.lastOK <= b.ret)
}

// diedHolding reports whether a crashed client may have held when b was refused.
func (k *keyLog) diedHolding(b *record) bool {
	return slices.ContainsFunc(k.crashes, func(g crashHold) bool { return g.from <= b.ret && b.call <= g.to })
}

func (f *refusal) done() { f.settle(never) }

// largest keeps the n largest of the values added.
type largest struct {
	n      int
	values []int64 // in no order
}

func (l *largest) add(v int64) {
	if len(l.values) < l.n {
		l.values = append(l.values, v)
		return
	}
	least := 0
	for i := range l.values {
		if l.values[i] < l.values[least] {
			least = i
		}
	}
	l.values[least] = max(l.values[least], v)
}

// atLeast returns how many are at least v.
func (l *largest) atLeast(v int64) (n int) {
	for _, x := range l.values {
		if x >= v {
			n++
		}
	}
	return n
}
