package checker

import "github.com/lockbench/lockbench/history"

// mutualExclusion: no two conflicting beliefs overlap. A belief is the time in which the lock had told a client that it holds: from
// the return of the acquire to the first of release called, loss told, valid-until. Its violation is a broken promise of the
// algorithm, or of the server under it, whatever the clients did with their time.
//
// Why it is exact for locks that are not re-entrant: any linearization puts the grant A into [acquire.call, acquire.return] and the release
// R into [release.call, release.return], so the lock is held at least during H = [acquire.return, release.call]. If
// the H are disjoint, A = acquire.return and R = release.call is a linearization; an acquire of unknown
// outcome may be read as no effect and is never needed. If two overlap there is none. Re-entrant holds are
// merged to the outermost; for shared and exclusive holds only pairs with an exclusive one count; for permits the number in force.
// Checked against Porcupine in TestSweepAgreesWithPorcupine.
//
// Opportunities are hand-overs: two consecutive beliefs of different clients. A history with a grant and without a hand-over has tested
// exclusion when another client asked as well and was refused or not answered, when the holder of a re-entrant lock asked again, or
// when a client that was not answered did. With one client alone and all answered it has not, and is inconclusive.
//
// Limits: a lock that gives no valid-until is held to lease - drift from the call. An overlap no longer than the clock error between
// recorders is reported apart.
type mutualExclusion struct {
	tally
	d    *docket
	over *overlaps
	last interval
	asks *record // the latest acquire, whatever came of it
}

func newMutualExclusion(d *docket) *mutualExclusion {
	same := d.a.header.Kind == history.Mutex || d.a.header.Kind == history.Semaphore
	return &mutualExclusion{tally: tally{property: history.MutualExclusion, applies: true}, d: d, over: newOverlaps(d.a.header, same)}
}

func (m *mutualExclusion) called(*record) {}

func (m *mutualExclusion) returned(r *record) {
	m.asked(r)
	if r.op != history.Acquire && r.op != history.Extend || r.outcome != history.OK {
		return
	}
	d := m.d.k.detailOf(r)
	if d.role != starts {
		return
	}
	i := interval{r, r.ret, d.end}
	if m.last.r != nil && m.last.r.client != r.client {
		m.opportunity(m.d, m.last.start, i.start)
	}
	m.last = i
	if with := m.over.add(i); len(with) > 0 && m.d.rules.on("belief-overlap") {
		m.found(m.d, overlapViolation(m.d, i, with), func() []history.Operation { return m.d.episodes(i, with) })
	}
}

// asked counts the turns from one asking client to another, and to itself where it may enter again or contends with a grant of its own
// that it was not told of.
func (m *mutualExclusion) asked(r *record) {
	if r.op != history.Acquire {
		return
	}
	if m.asks != nil && (m.asks.client != r.client || m.asks.outcome == history.Unknown || m.d.a.header.Kind == history.Reentrant) {
		m.contested++
	}
	m.asks = r
}

// done forgets the contest for a key that nobody was granted: it tells nothing of exclusion.
func (m *mutualExclusion) done() {
	if m.last.r == nil {
		m.contested = 0
	}
}

// overlapViolation describes interval i, which began while others were in force.
func overlapViolation(d *docket, i interval, with []interval) Violation {
	v := Violation{At: i.start, Lasted: i.end - i.start}
	for _, w := range with {
		v.Clients = append(v.Clients, d.clientName(w.r))
		v.Lasted = min(v.Lasted, w.end-i.start)
	}
	v.Clients = append(v.Clients, d.clientName(i.r))
	v.WithinClockError = d.a.header.ClockError > 0 && v.Lasted <= d.a.header.ClockError
	return v
}

// episodes gives the operations of all the holds that an overlap is about.
func (d *docket) episodes(i interval, with []interval) []history.Operation {
	var out []history.Operation
	for _, w := range with {
		out = append(out, d.episode(w.r)...)
	}
	return append(out, d.episode(i.r)...)
}
