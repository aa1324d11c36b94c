package checker

import (
	"cmp"
	"math"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// progress: a free lock is acquired by a client that wants it, within a lease and the grace.
//
// The lock counts as taken from the call of a grant until its release returned, or, if it was not certainly released, until its lease had certainly
// ended, where renewals that came once its release was called don't count; if nothing expires, until the holder is known to be dead or to have given
// up. The rest is free time. It is a violation if attempts keep failing or being refused for a lease and the grace within free time, if a waiting
// acquire is granted that long after the lock became free, and if a lock that was wanted was never granted. A free time that ends because another
// client is granted the lock is one too, if nobody else can have held in it. Attempts more than the grace apart are not one wait, unless both were
// refused: something kept the lock then, and an error shows nothing of it. Where the clocks of two clients are compared, what is too long by no more
// than the clock error decides nothing.
//
// For a lock that wakes its waiters (Header.Wakeups) the limit is one second, if no fault was active within a lease before: then nothing but a
// message, and its own requests, keep a waiter from a free lock. The time that those took, by the recorded commands, is added.
//
// Time in which a server or the client was stopped, down or cut off, by measured fault windows, does not count. Nor does time in which a try of another
// client may have been granted that came to nothing: a fault kept it from the reply, and when it learnt of the grant the lease was over.
//
// A fault that made a server's clock slow, or set it back, lets a lease end so much later.
//
// An opportunity is an acquire with a known outcome.
//
// Limits: holders that never release and are not known to have crashed count as working. How long clients really wanted the lock between two attempts
// is not seen.
type progress struct {
	tally
	limit    int64
	least    int64    // the least that is too long for a waiter: the limit, unless the lock wakes its waiters
	taken    int64    // until when the lock counts as taken because of grants
	by       uint32   // the client of the last of them
	others   int64    // until when the lock counts as taken because of those of other clients
	undone   []undone // tries that may have been granted
	free     []Span   // the latest stretches between two grants in which nobody held for as long as a waiter may have to wait
	inFlight int      // grants that were called and have not returned
	since    *record  // first attempt of the current streak of failures
	from     int64    // when that streak began within free time
	latest   *record  // the failed attempt that returned last
	reported bool     // the streak has been reported as longer than the clock error explains
	first    *record  // the first refusal
	last     *record  // the last refusal
}

// undone is the time in which a try that came to nothing may have been granted.
type undone struct {
	client uint32
	Span
}

// grace is how much longer than a lease a free lock may stay free, in nanoseconds; a lock with a longer lease, another lease.
const grace = 1_000_000_000

// promptly is for how many nanoseconds a lock that wakes its waiters may be free and wanted. A message and a request take far less; even a busy
// machine runs a ready process sooner.
const promptly = 1_000_000_000

// limitFrom returns how long the lock may be free and wanted by the client of r, counted from the instant free, if it still is when r returns.
func (p *progress) limitFrom(free int64, r *record) int64 {
	switch {
	case !p.d.a.header.Wakeups || p.d.ev.anyFault(free-p.d.a.header.Lease, r.ret):
		return p.limit
	case p.d.opt.HandOver != 0:
		return p.least
	}
	return min(p.limit, promptly+history.UnderWay(p.d.ev.commandsOf(p.d.clientName(r), min(r.call, free), r.ret), free, r.ret))
}

func newProgress(d *keyInput) *progress {
	lease := d.a.header.Lease
	p := &progress{tally: d.tallyOf(verdicts.Progress, true, ""), taken: math.MinInt64, others: math.MinInt64, limit: plus(lease, max(lease, grace))}
	if p.least = p.limit; d.a.header.Wakeups {
		p.least = min(p.limit, cmp.Or(d.opt.HandOver, promptly))
	}
	return p
}

func (p *progress) called(r *record) {
	if r.op != history.Acquire {
		return
	}
	switch {
	case r.granted() && p.d.k.detailOf(r).role == starts:
		p.inFlight++
	case r.outcome == history.Unknown:
		p.take(r, plus(r.ret, p.d.a.header.Lease+slack(p.d.a.header)))
	}
	if s, ok := p.d.ev.interrupted(p.d.clientName(r), r.call, r.ret); ok {
		s.To = min(r.ret, plus(s.To, p.d.a.header.Lease+slack(p.d.a.header)))
		p.undone = append(p.undone, undone{r.client, s})
	}
}

// undoneUntil returns the latest instant, up to t, at which a try of another client than that of r may have been granted that came to nothing.
func (p *progress) undoneUntil(r *record, t int64) (last int64) {
	last = math.MinInt64
	for _, u := range p.undone {
		if u.client != r.client && u.From <= t {
			last = max(last, min(u.To, t))
		}
	}
	return last
}

// maxStretches is how many stretches are remembered.
const maxStretches = 64

// ends records that a grant ended a stretch in which nobody held.
func (p *progress) ends(r *record) {
	if s := (Span{p.taken, p.d.k.from(r)}); plus(s.From, p.least) <= s.To {
		p.free = append(p.free[max(len(p.free)+1-maxStretches, 0):], s)
	}
}

// passedOver reports an acquire that was not served within a stretch in which nobody held, though another was after it. Whoever may have held in it ends
// it, and what a fault may explain counts for nothing.
func (p *progress) passedOver(r *record) bool {
	for _, s := range p.free {
		free, until := max(s.From, r.call), s.To
		if until-free < p.least {
			continue
		}
		free = max(free, p.undoneUntil(r, until), p.crashedUntil(r))
		for o := range p.d.k.overlapping(free, until) {
			if o != r && o.op == history.Acquire && (o.granted() || o.outcome == history.Unknown) {
				until = min(until, p.d.k.from(o))
			}
		}
		late := until-free-2*p.d.a.header.ClockError >= p.limitFrom(free, r)
		if late && !p.d.ev.anyFault(free-p.d.a.header.Lease, until) && p.d.obeys("passed-over") {
			p.report(r, r, Span{free, until}, false)
			return true
		}
	}
	return false
}

// take makes the lock count as taken up to t because of r.
func (p *progress) take(r *record, t int64) {
	switch {
	case r.client == p.by:
		p.taken = max(p.taken, t)
	case t > p.taken:
		p.taken, p.by, p.others = t, r.client, p.taken
	default:
		p.others = max(p.others, t)
	}
}

func (p *progress) returned(r *record) {
	if r.op != history.Acquire && r.op != history.Extend || r.outcome == history.Unknown {
		return
	}
	switch {
	case r.outcome == history.OK && p.d.k.detailOf(r).role == starts:
		p.granted(r)
	case r.outcome == history.OK && p.d.holdOf(r) != nil: // a re-entry or an extend
		p.take(r, p.takenUntil(r))
	case r.op == history.Acquire && (r.outcome == history.Busy || r.outcome == history.Fail):
		p.failed(r)
	}
}

func (p *progress) granted(r *record) {
	if r.op == history.Acquire {
		p.inFlight--
		p.opportunity(r.call, r.ret)
		free := max(p.taken, p.undoneUntil(r, r.ret), r.call)
		switch late := p.late(free, r, 0) && p.d.obeys("late-grant"); {
		case p.passedOver(r):
		case late && p.d.ev.excused(p.d.clientName(r), free, r.ret):
			p.withdraw(1, metAFault)
		case late:
			p.report(r, r, Span{free, r.ret}, p.within(r, free, r))
		}
		p.ends(r)
	}
	p.take(r, p.takenUntil(r))
	p.since, p.reported = nil, false
}

// late reports whether a lock that was free since an instant was wanted for the limit and the slack, or more, when r returned.
func (p *progress) late(free int64, r *record, slack int64) bool {
	return r.ret-free-slack >= p.limitFrom(free, r)
}

// takenUntil returns until when a grant counts as taken.
func (p *progress) takenUntil(r *record) int64 {
	hold := p.d.a.holdOf[r.line-1]
	if t, ok := p.d.k.orphans[hold]; ok {
		return plus(t, p.d.a.header.Lease+slack(p.d.a.header))
	}
	d := p.d.k.details.At(hold)
	gone := d.gone
	if d.release == nil {
		gone = p.d.ev.delayed(r.call, gone, keep(p.d.a.header))
	}
	if owned, renewed := p.d.k.owned[hold]; renewed {
		gone = owned
	}
	if r.op == history.Extend && gone < never {
		return gone
	}
	return max(gone, p.d.k.detailOf(r).end)
}

func (p *progress) failed(r *record) {
	p.opportunity(r.call, r.ret)
	if r.outcome == history.Busy {
		if p.first == nil {
			p.first = r
		}
		p.last = r
	}
	if p.passedOver(r) {
		return
	}
	busy := p.undoneUntil(r, r.ret)
	if t, ok := p.d.ev.unavailable(p.d.clientName(r), r.ret); ok {
		busy = max(busy, t)
	}
	free := max(p.taken, p.crashedUntil(r), busy)
	if p.since != nil && (busy > p.from || p.apart(r)) {
		p.since = nil
	}
	p.latest = r
	if plain := max(p.taken, p.crashedUntil(r), r.call); busy > plain && p.late(plain, r, 0) && !p.late(busy, r, 0) { // but for a fault
		p.withdraw(1, metAFault)
		return
	}
	if p.inFlight > 0 || free >= r.ret && free > r.call { // an attempt that takes no time may begin as the lock becomes free
		return
	}
	free = max(free, r.call)
	if p.since == nil || p.from < min(p.taken, r.ret) || free < p.from { // the last: it waited longer than those that returned before it
		p.since, p.from = r, free
	}
	if p.late(p.from, r, 0) && !p.reported && p.d.obeys("free-but-refused") {
		within := p.within(p.since, p.from, r)
		p.reported = !within
		p.report(p.since, r, Span{p.from, r.ret}, within)
	}
}

// apart reports whether the failed attempt before r was another wait.
func (p *progress) apart(r *record) bool {
	refused := r.outcome == history.Busy && p.latest.outcome == history.Busy
	return !refused && r.call > plus(p.latest.ret, grace)
}

// crashedUntil returns until when a crashed client may hold the lock by an unrecorded request. If nothing expires that is the crash: a lock that its
// dead holder keeps for ever makes no progress.
func (p *progress) crashedUntil(r *record) (t int64) {
	t = math.MinInt64
	for _, g := range p.d.k.crashes {
		if g.from > r.ret {
			continue
		}
		if g.to == never {
			g.to = plus(g.died, slack(p.d.a.header))
		}
		t = max(t, g.to)
	}
	return t
}

// within reports whether the limit was passed by no more than the clock error: by the clock of r's client, the lock may have become free, or another's
// attempt have begun, so much later.
func (p *progress) within(first *record, free int64, r *record) bool {
	slack, taken := p.d.a.header.ClockError, p.taken
	if r.client == p.by {
		taken = p.others
	}
	if first.client == r.client {
		slack = max(plus(taken, slack), free) - free
	}
	return !p.late(free, r, slack)
}

// report reports the attempts from first to last as failed although the lock was free for a time.
func (p *progress) report(first, last *record, free Span, within bool) {
	v := Violation{At: free.From, Lasted: free.To - free.From, Clients: []string{p.d.clientName(last)}}
	if v.WithinClockError = within; within {
		p.withdraw(1, withinClockError)
	}
	p.found(v, func() Witness { return p.d.witness(p.d.grantBefore(last, free.From), first, last) })
}

// grantBefore returns the last grant other than r to return by t; nil if there is none.
func (d *keyInput) grantBefore(r *record, t int64) []*record {
	var last *record
	for span := int64(1_000_000); ; span = plus(span, 3*span) {
		for o := range d.k.overlapping(t-span, t) {
			if o != r && o.granted() && o.ret <= t && (last == nil || cmp.Or(cmp.Compare(last.ret, o.ret), byCall(*last, *o)) < 0) {
				last = o
			}
		}
		switch {
		case last != nil:
			return []*record{last}
		case t-span <= d.k.first(), span == never:
			return nil
		}
	}
}

// done reports a lock that was never acquired.
func (p *progress) done() {
	k := p.d.k
	if k.count(history.Acquire, history.OK, history.Unknown) > 0 || p.first == p.last || p.violations > 0 || !p.d.obeys("never-granted") {
		return
	}
	// Votes may split, and a crashed client may have held: then only refusals for the whole limit are proof.
	long := p.last.ret-p.first.call >= p.limit
	if (p.d.a.header.Votes || len(k.crashes) > 0 || p.d.ev.anyServerFault(p.first.call, p.last.ret)) && !long {
		return
	}
	p.report(p.first, p.last, Span{p.first.call, p.last.ret}, false)
}
