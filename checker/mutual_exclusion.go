package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// mutualExclusion: no two beliefs conflict for longer than the clock error. A belief is what the
// lock has told a client; if two conflict, the algorithm, or the server under it, broke a promise,
// whatever the clients did with their time.
//
// An opportunity is a grant after another that it would conflict with. It is not judged if its
// belief was over before its client learnt of it. A belief that resumes after a gap or a loss is no
// grant and counts only if it conflicts. A re-entry within a belief of its client counts with that;
// one that outlasts it, because the outer hold was lost or released first, counts itself.
//
// Needed by: planted bug "exists-set" and every lock that two clients held.
type mutualExclusion struct {
	tally
	over  overlaps
	last  int64            // return of the latest grant
	until map[uint32]int64 // re-entrant: the latest end of each client's beliefs so far
}

func newMutualExclusion(d *keyInput) *mutualExclusion {
	n := d.k.count(history.Acquire, history.OK, history.Busy, history.Fail, history.Unknown)
	return &mutualExclusion{tally: d.tallyOf(verdicts.MutualExclusion, n > 0, "nobody asked for it"), over: d.newOverlaps(),
		until: map[uint32]int64{}}
}

func (m *mutualExclusion) returned(o *op) {
	if o.kind != history.Acquire && o.kind != history.Extend {
		return
	}
	end, starts := m.d.k.beliefEnd(o)
	if !starts {
		return
	}
	i := interval{start: o.ret, end: end}
	with, lasted, meets := m.over.add(o, o.hold, i)
	if m.d.a.header.Kind == history.Reentrant {
		until, known := m.until[o.client]
		if !known || end > until {
			m.until[o.client] = end
		}
		if known && until > o.ret && until >= end { // it lies in the belief in another hold
			return
		}
	}
	since := m.last
	m.last = o.ret
	switch meets = meets && o.granted(); {
	case len(with) > 0 && m.d.uses("belief-overlap"):
		m.over.report(&m.tally, o, i, with, lasted)
	case !meets:
	case end <= o.ret:
		m.unjudged(overWhenGranted)
	default:
		m.opportunity(since, o.ret)
	}
}
