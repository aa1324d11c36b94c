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
	shared  refusers // possible shared holds: they refuse exclusive attempts
	writers refusers // possible exclusive holds: they refuse every attempt
	permits int
	taken   []int64      // several permits: until when the holds that may last longest may, ascending, no more than there are permits
	lost    [2][]*record // by mode: acquires of unknown outcome that excuse nothing yet
	lostAt  placement    // of the one that excuses the current refusals
	unsure  []*record    // the first attempts of unknown outcome of two clients
	late    int64        // until when a grant is pending whose reply comes after its lease
	empty   int64        // until when a grant may hold, or is pending, whose belief had ended when its reply came
	open    []*record    // refusals whose only witness can be the next grant to return
	unknown [2]bool      // by mode: there was an acquire of unknown outcome
}

func newRefusal(d *keyInput) *refusal {
	r := &refusal{tally: d.tallyOf(verdicts.Refusal, d.k.count(history.Acquire, history.Busy) > 0, "nobody was refused"), permits: Permits(d.a.header)}
	r.late, r.empty = math.MinInt64, math.MinInt64
	r.shared, r.writers = noRefusers(), noRefusers()
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

// refusers are the possible holds that refuse a mode, at an instant of the walk.
type refusers struct {
	inFlight []flight         // grants that were called and have not returned
	gone     int64            // until when the holds that have started may last
	end      int64            // until when the last of them certainly does
	last     int64            // when the latest grant returned
	own      map[uint32]int64 // see ownCoexist, by client: until when its own hold may last, which no grant to it ends
}

// flight is a grant that was called and has not returned.
type flight struct {
	from   int64 // since when it can have held
	client uint32
}

// ownCoexist reports whether a client of a lock may be granted a hold beside one of its own.
func ownCoexist(k history.Kind) bool { return k == history.RW || k == history.Reentrant }

func noRefusers() refusers {
	return refusers{gone: math.MinInt64, end: math.MinInt64, last: math.MinInt64, own: map[uint32]int64{}}
}

// cut records that a conflicting hold started: those before it have ended by now, unless they overlap.
func (w *refusers) cut(client uint32, now int64) {
	if own, held := w.own[client]; w.end <= now && (!held || own <= now) {
		w.gone = min(w.gone, now)
	}
}

// pending counts the grants that have not returned and can have held by an instant, when a client was refused: it asks again only after that.
func (w *refusers) pending(by int64, refused uint32) (n int) {
	for _, g := range w.inFlight {
		if g.from <= by && g.client != refused {
			n++
		}
	}
	return n
}

// start adds a hold that has started.
func (w *refusers) start(d, h *detail) { w.gone, w.end = max(w.gone, h.gone), max(w.end, d.end) }

// of returns the refusers to which holds of a mode belong.
func (f *refusal) of(m history.Mode) *refusers {
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
	case r.granted():
		w := f.of(r.mode)
		w.inFlight = append(w.inFlight, flight{f.d.k.from(r), r.client})
		switch {
		case f.d.k.detailOf(r).end >= r.ret:
		case f.permits == 1:
			f.late = max(f.late, r.ret)
		default: // of several permits it is one, as it is in flight and then possible; no window contains it
			f.empty = max(f.empty, r.ret)
		}
	case r.outcome == history.Unknown:
		f.lost[r.mode] = append(f.lost[r.mode], r)
		f.unknown[r.mode] = true
		if len(f.unsure) == 0 || len(f.unsure) == 1 && f.unsure[0].client != r.client {
			f.unsure = append(f.unsure, r)
		}
	case (r.outcome == history.Busy || r.outcome == history.Fail) && takenBack(f.d, r):
		f.late = max(f.late, r.ret)
	}
}

func (f *refusal) returned(r *record) {
	f.lostAt.renew(f.d.a.header, r)
	if !f.applies || r.op != history.Acquire && r.op != history.Extend {
		return
	}
	switch {
	case r.outcome == history.Busy && r.op == history.Acquire:
		f.opportunity(r.call, r.ret)
		f.refused(r)
	case r.granted(), r.outcome == history.OK && f.d.k.detailOf(r).role == starts:
		f.started(r)
	}
}

// refused judges a refusal, or leaves it to the next grant.
func (f *refusal) refused(b *record) {
	switch {
	case f.witnessed(b), f.excusedByRecord(b):
	case f.single() && f.coming(b) > 0:
		f.open = append(f.open, b)
	default:
		f.report(b)
	}
}

// single reports whether holds follow one another, so that of the pending grants only the first to return can have held.
func (f *refusal) single() bool { return f.permits == 1 && f.d.a.header.Kind != history.RW }

// settle judges the refusals that wait for a grant, now that it has returned. That of the refused client itself came later; by exact clocks no other then
// came in between.
func (f *refusal) settle(g flight) {
	waiting := f.open[:0]
	for _, b := range f.open {
		switch own := g.client == b.client; {
		case own && f.d.a.header.ClockError > 0:
			waiting = append(waiting, b)
		case own, g.from > f.latest(b):
			f.report(b)
		}
	}
	f.open = waiting
}

// placement is when the hold of an acquire of unknown outcome can have begun: one interval for all that it excuses.
type placement struct {
	from, to int64
	renewed  int64   // of a re-entrant client: the latest of its operations that may have renewed the hold
	r        *record // nil = none
}

// renew records an operation of the client of a placed hold that may have renewed it.
func (p *placement) renew(h history.Header, r *record) {
	if p.r != nil && h.Kind == history.Reentrant && r.client == p.r.client && r.outcome == history.OK && r.op != history.Write && r.call <= plus(max(p.to, p.renewed), keep(h)) {
		p.renewed = max(p.renewed, r.ret)
	}
}

// placed reports whether an acquire of unknown outcome excuses refusal b: the one that excused those before it, unless that would need two times or a
// grant came between, or else one that has excused nothing.
func (f *refusal) placed(b *record) bool {
	soon := func() bool { return f.soon(b, func(o *record) bool { return o.outcome == history.Unknown }) > 0 }
	if f.d.a.header.Lease == 0 {
		lost := func(of []*record) bool { return len(of) > 0 && mayRefuse(f.d.a.header.Kind, of[0].mode, b.mode) }
		return f.mayHoldLate(b) && (slices.ContainsFunc(f.lost[:], lost) || soon())
	}
	from, to := b.call-f.d.a.header.ClockError-f.d.a.header.Lease-slack(f.d.a.header), f.latest(b)
	if p := &f.lostAt; p.r != nil && mayRefuse(f.d.a.header.Kind, p.r.mode, b.mode) {
		switch {
		case max(p.from, from) <= min(p.to, to):
			p.from, p.to = max(p.from, from), min(p.to, to)
			return true
		case p.renewed >= from:
			return true
		}
	}
	for _, m := range []history.Mode{history.Shared, history.Exclusive} { // what refuses both modes last
		lost := f.lost[m]
		if i := slices.IndexFunc(lost, func(u *record) bool { return u.call <= to }); i >= 0 && mayRefuse(f.d.a.header.Kind, lost[i].mode, b.mode) {
			f.lostAt = placement{from: max(lost[i].call, from), to: to, renewed: math.MinInt64, r: lost[i]}
			f.lost[m] = slices.Delete(lost, i, i+1)
			return true
		}
	}
	return soon()
}

func (f *refusal) report(b *record) {
	if f.placed(b) {
		f.opportunities--
		f.leave(b, unknownOutcomes)
		return
	}
	if f.d.obeys("busy-witness") {
		f.foundAt(b)
	}
}

// cut records that a hold that conflicts with those of w has started, unless by exact clocks it may have come before one of them.
func (f *refusal) cut(w *refusers, r *record, from int64) {
	if error := f.d.a.header.ClockError; error == 0 || plus(w.last, error) < from {
		w.cut(r.client, r.ret)
	}
}

func (f *refusal) started(r *record) {
	d, w, from := f.d.k.detailOf(r), f.of(r.mode), f.d.k.from(r)
	f.settle(flight{from, r.client})
	if r.op == history.Acquire {
		i := slices.Index(w.inFlight, flight{from, r.client})
		w.inFlight = slices.Delete(w.inFlight, i, i+1)
	}
	f.cut(&f.writers, r, from)
	if r.mode == history.Exclusive {
		f.cut(&f.shared, r, from)
	}
	w.last = max(w.last, r.ret)
	h := f.d.holdOf(r)
	w.start(d, h)
	if own, held := w.own[r.client]; ownCoexist(f.d.a.header.Kind) && (!held || own < h.gone) {
		w.own[r.client] = h.gone
	}
	if f.permits == 1 { // what was possible before has ended
		f.empty = min(f.empty, r.ret)
	}
	if d.end < r.ret {
		f.empty = max(f.empty, h.gone)
	}
	if f.permits > 1 && h.began == r {
		at, _ := slices.BinarySearch(f.taken, h.gone)
		f.taken = slices.Insert(f.taken, at, h.gone)
		f.taken = slices.Delete(f.taken, 0, max(len(f.taken)-f.permits, 0))
	}
	if u := f.lostAt.r; u != nil && f.permits == 1 && Conflict(f.d.a.header.Kind, u.client == r.client, u.mode, r.mode) {
		f.lostAt.r = nil
	}
}

// witnessed reports whether the possible holds, as many as there are permits, may have refused b.
func (f *refusal) witnessed(b *record) bool {
	from := b.call - f.d.a.header.ClockError
	if f.permits > 1 {
		ended, _ := slices.BinarySearch(f.taken, from)
		return f.coming(b)+len(f.taken)-ended >= f.permits
	}
	if b.mode == history.Exclusive && (f.shared.gone >= from || f.shared.pending(f.latest(b), b.client) > 0) {
		return true
	}
	return f.writers.gone >= from || !f.single() && f.coming(b) > 0
}

// latest returns the last instant, by any clock, at which b can have been refused.
func (f *refusal) latest(b *record) int64 { return plus(b.ret, f.d.a.header.ClockError) }

// coming counts the exclusive grants under way, and the conflicting ones called within the clock error, that can have held when b was refused.
func (f *refusal) coming(b *record) int {
	return f.writers.pending(f.latest(b), b.client) + f.soon(b, (*record).granted)
}

// soon counts those conflicting acquires of a sort that were called when or after refusal b returned, by no more than the clock error.
func (f *refusal) soon(b *record, of func(*record) bool) (n int) {
	by := f.latest(b)
	if by == b.ret {
		return 0
	}
	for o := range f.d.k.overlapping(b.ret, by) {
		if o.op == history.Acquire && of(o) && o.call >= b.ret && !(o.granted() && f.d.k.from(o) > by) && mayRefuse(f.d.a.header.Kind, o.mode, b.mode) {
			n++
		}
	}
	return n
}

// excusedByRecord reports whether a grant whose reply came late, a crash or another client's attempt excuses refusal b.
func (f *refusal) excusedByRecord(b *record) bool {
	return f.late >= b.call || f.d.k.diedHolding(b) || f.keptOut(b)
}

// mayKeepOut reports whether the header lets an attempt refuse b, whatever came of it: one of another client that may still have votes, until they are
// taken back or for a lease, or that was called earlier and is under way.
func mayKeepOut(h history.Header, o, b *record) bool {
	if o.op != history.Acquire || o.client == b.client || o.call > b.ret+h.ClockError {
		return false
	}
	last := o.ret
	switch {
	case o.outcome == history.Unknown:
		last = never
	case h.Votes:
		last = plus(last, keep(h))
	}
	return (h.Votes || h.FIFO && o.call <= b.call+h.ClockError) && last >= b.call-h.ClockError
}

// keptOut reports whether the header lets some attempt refuse b.
func (f *refusal) keptOut(b *record) bool {
	h, from := f.d.a.header, b.call-f.d.a.header.ClockError
	switch {
	case !h.Votes && !h.FIFO:
		return false
	case h.Votes && h.Lease == 0:
		from = math.MinInt64
	case h.Votes:
		from -= keep(h)
	}
	may := func(o *record) bool { return mayKeepOut(h, o, b) }
	if slices.ContainsFunc(f.unsure, may) {
		return true
	}
	for o := range f.d.k.overlapping(from, b.ret+h.ClockError) {
		if may(o) {
			return true
		}
	}
	return false
}

// excusedFromSearch reports whether refusal b may have an excuse that no window contains: one of the record, a grant whose belief had ended when its reply
// came, because the server counts its lease from the grant, or an acquire of unknown outcome.
func (f *refusal) excusedFromSearch(b *record) bool {
	may := func(m history.Mode) bool { return f.unknown[m] && mayRefuse(f.d.a.header.Kind, m, b.mode) }
	return f.empty >= b.call || may(history.Shared) || may(history.Exclusive) || f.excusedByRecord(b)
}

// mayHoldLate reports whether the hold of an acquire of unknown outcome may be there at refusal b: if it never ends, no grant comes after it.
func (f *refusal) mayHoldLate(b *record) bool {
	return f.d.a.header.Kind != history.Mutex || f.d.a.header.Lease > 0 || f.d.k.cleanups || f.d.k.lastOK <= b.ret
}

// diedHolding reports whether a crashed client may have held when b was refused.
func (k *keyLog) diedHolding(b *record) bool {
	return slices.ContainsFunc(k.crashes, func(g crashHold) bool { return g.from <= b.ret && b.call <= g.to })
}

func (f *refusal) done() { f.settle(flight{never, nobody}) }
