package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// mutualExclusion: no two beliefs conflict for longer than the clock error. A belief is what the lock has told a client; if two conflict, the
// algorithm, or the server under it, broke a promise, whatever the clients did with their time.
//
// Why that is exact: in any execution of the abstract server a hold is in force from the return of its acquire to the call of its release or until it
// lapses, that is during its belief. If no beliefs conflict, the order of their starts is an execution. An acquire of unknown outcome may be assumed
// without effect and is never needed.
//
// An opportunity is a grant after another that it would conflict with. It is not judged if its belief, or the end of the one before, depends on a
// missing time, if the belief was over before its client learnt of it, or if the overlap is within the clock error. Without an opportunity the
// property is inconclusive. A belief that resumes after a gap is no grant, and counts only if it conflicts. One that lies within another of its
// client's, as a re-entry's does, is judged with that; one that outlasts it, because the outer hold was lost or released first, is judged itself.
type mutualExclusion struct {
	tally
	over  *overlaps
	maybe *overlaps        // with each unknown end of a belief as late as possible
	last  int64            // return of the latest grant
	until map[uint32]int64 // re-entrant: the latest end of each client's beliefs so far
}

func newMutualExclusion(d *keyInput) *mutualExclusion {
	n := d.k.count(history.Acquire, history.OK, history.Busy, history.Fail, history.Unknown)
	m := &mutualExclusion{tally: d.tallyOf(verdicts.MutualExclusion, n > 0, "nobody asked for it"),
		over: newOverlaps(d.a.header), until: map[uint32]int64{}}
	if d.k.doubts {
		m.maybe = newOverlaps(d.a.header)
	}
	return m
}

func (m *mutualExclusion) returned(r *record) {
	if r.op != history.Acquire && r.op != history.Extend || r.outcome != history.OK {
		return
	}
	d := m.d.k.detailOf(r)
	if d.role != starts && r.op == history.Extend {
		return
	}
	hold := m.d.a.holdOf[r.line-1]
	i := interval{r, hold, r.ret, d.end}
	with, lasted, meets := m.over.add(i)
	perhaps := false // it conflicts, if a belief ended as late as possible
	if m.maybe != nil {
		i.end = m.d.k.latestEnd(d)
		more, longer, met := m.maybe.add(i)
		meets = met
		perhaps = len(more) > 0 && longer > m.d.a.header.ClockError && lasted <= m.d.a.header.ClockError
	}
	if m.within(r, d.end) {
		return
	}
	since := max(m.last, 0)
	m.last = r.ret
	meets = meets && m.d.holdOf(r).began == r
	open := "" // why it is not judged
	switch {
	case len(with) > 0 && m.d.obeys("belief-overlap"):
		v := m.d.overlapViolation(i, with, lasted)
		m.found(v, func() Witness { return m.d.witness(recordsOf(append(with, i))) })
		if meets = meets || !v.WithinClockError; v.WithinClockError {
			open = withinClockError
		}
	case perhaps, d.end <= r.ret && i.end > r.ret:
		open = endNotKnown
	case d.end <= r.ret:
		open = overWhenGranted
	}
	switch {
	case !meets:
	case open != "":
		m.unjudged(1, open)
	default:
		m.opportunity(since, r.ret)
	}
}

// within reports whether a belief that begins with r lies within one that its client has of another hold of a re-entrant lock.
func (m *mutualExclusion) within(r *record, end int64) bool {
	if m.d.a.header.Kind != history.Reentrant {
		return false
	}
	until, known := m.until[r.client]
	if !known || end > until {
		m.until[r.client] = end
	}
	return known && until > r.ret && until >= end
}
