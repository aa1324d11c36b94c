package explain

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// outlived explains a grant made after the first's lease had ended anyway: it is made even without all that happened in between, but refused if the clock
// stands still.
func (m *overlap) outlived(pairs []pairing, spare int) Answer {
	var over []pairing
	var freed []finding
	for _, p := range pairs {
		if !m.ranOut(p) {
			continue
		}
		did := slices.DeleteFunc(m.others(p, 0), func(i int) bool { return p.first.node.events[i].ended() })
		if len(did) > 0 && m.refusedWithout(p, did, did, 0) {
			continue
		}
		if m.lacks(p, p.from(), without{events: did, stop: p.first.time()}) {
			over = append(over, p)
			if before := m.freedBefore(p, did); len(before) > 0 {
				freed = append(freed, nearest(before))
			}
		}
	}
	if len(over) <= spare {
		return Answer{}
	}
	p, end := over[0], sentence("had the lease of ", Name(m.first.Client), " not ended")
	if len(freed) <= spare {
		return m.expired(p, p.second.time(), end)
	}
	if spare > 0 {
		freed = jointly(freed[:spare+1])
	}
	for i := range freed { // none of them makes a difference while the lease ends
		freed[i].more = sentence(freed[i].more, ", and ", end)
	}
	f := nearest(freed)
	if f.rank == byFault || f.name == verdicts.OwnRelease {
		return m.answer(freed)
	}
	answer := m.expired(p, p.second.time(), "without ", f.text())
	answer.Events = append(answer.Events, f.evidence)
	return answer
}

// freedBefore returns the events that ended the first's hold before its lease ended, each of which does so alone, or else the fewest that do together: while
// the clock stands still, the second is granted with them, and refused without.
func (m *overlap) freedBefore(p pairing, did []int) (found []finding) {
	stopped := func(left []int) bool { return m.lacks(p, p.from(), without{events: left, stop: p.first.time()}) }
	if stopped(nil) {
		return nil
	}
	did = slices.DeleteFunc(slices.Clone(did), func(i int) bool {
		e := &p.first.node.events[i]
		// what came after the lease did not end the hold; nor did a fault that found nothing left
		return e.effect != nil && e.at > m.leaseEnd(p, i) || len(e.changes) == 0 && e.resets()
	})
	for _, i := range did {
		if stopped([]int{i}) && m.owned(p, i, p.first.time()) {
			found = append(found, m.finding(p, i))
		}
	}
	if len(found) > 0 {
		return found
	}
	grants := func(i int) bool { op := p.first.node.events[i].op; return op != nil && op.Op == history.Acquire }
	for _, all := range [][]int{slices.DeleteFunc(slices.Clone(did), grants), did} { // most others were granted the lock because of the rest
		if len(all) < 2 {
			continue
		}
		if found = m.jointlyOf(p, all, func(left []int) bool { return m.refusedWithout(p, all, left, p.first.time()) }); len(found) > 0 {
			return found
		}
	}
	return nil
}

// leaseEnd returns when the first's lease, as renewed by the events before one, ends by a clock that is right. Without leases that is the end of time.
func (m *overlap) leaseEnd(p pairing, before int) int64 {
	if m.Header.Lease == 0 {
		return math.MaxInt64 / 2
	}
	set, keys := p.first.granting(), p.second.keys()
	for i := p.from(); i < before; i++ {
		e := &p.first.node.events[i]
		if e.cmd != nil && e.cmd.Client == m.first.Client && (e.op == nil || e.op.Op == history.Extend) && touches(keysOf(e.changes, true), keys) {
			set = e
		}
	}
	from := set.at
	for _, arg := range set.cmd.Args {
		if at, unit := m.timeIn(arg, set.cmd.Sent); unit != 0 { // the lease counts from when its client looked at the clock
			from = min(from, set.cmd.Sent, at-m.Header.Epoch-m.off[set.cmd.Client])
		}
	}
	return from + m.Header.Lease
}

// over reports whether the first's lease can have ended before the second was granted. For a semaphore no experiment shows that, because other holds end
// too.
func (m *overlap) over(p pairing) bool { return m.Header.Kind != history.Semaphore || m.ranOut(p) }

// ranOut reports whether the lease of the first's hold was over before the second was granted: by a clock that is right, or because a key ended or a
// clock was changed in between.
func (m *overlap) ranOut(p pairing) bool {
	keys := p.second.keys()
	return m.leaseEnd(p, p.second.grant) <= p.second.time()+grain || slices.ContainsFunc(p.inBetween(), func(e event) bool {
		return e.setsClock() || e.ended() && changesAny(&e, keys)
	})
}

// expired returns the answer for the end of a lease.
func (m *overlap) expired(p pairing, at int64, without ...any) Answer {
	return m.lease(p, at).answer(sentence(sentence(without...), ", ", Name(m.second.Client), " would have been refused"))
}

// byClientClock explains a grant decided by the clock of the second client or, for a semaphore, those of all: it was wrong if the first still believed in
// its hold. Events that have to be left out, too, are named; a fault among them, or a release by the first's client, comes before the end of the lease.
func (m *overlap) byClientClock(p pairing, left without, who any) Answer {
	but, end := sentence(), sentence("had hardly any time passed by the clock of ", who, " since ", Name(m.first.Client), "'s grant")
	if len(left.events) > 0 {
		found := m.jointlyOf(p, left.events, func(few []int) bool {
			return m.lacks(p, min(p.from(), p.to()), without{events: few, still: left.still, all: left.all})
		})
		for i := range found {
			found[i].more = sentence(found[i].more, ", and ", end)
		}
		f := nearest(found)
		if f.rank == byFault || f.name == verdicts.OwnRelease {
			return m.answer(found)
		}
		but, end = sentence("without "), f.text()
	}
	answer := m.expired(p, p.second.time(), but, end)
	if m.until(m.first, m.second.Return) > p.second.time() && m.skewed(p) {
		answer = Answer{Cause: verdicts.ClockSkew, Experiment: answer.Experiment, Events: []Event{p.first.reported(), p.second.reported()}}
	}
	return answer
}

// skewed reports whether the clock of the second's client or, for a semaphore, of any since the first, differs from that of the first's, by the times in
// their requests.
func (m *overlap) skewed(p pairing) bool {
	return slices.ContainsFunc(p.first.node.events[min(p.first.first(), p.to()):p.second.last()+1], func(e event) bool {
		if e.cmd == nil || m.Header.Kind != history.Semaphore && e.op != m.second {
			return false
		}
		return slices.ContainsFunc(e.cmd.Args, func(arg string) bool { return m.ahead(e.cmd, arg, m.first.Client) != 0 })
	})
}

// due returns the earliest instant, since 1970, at which the first's lease could end by a clock that is right.
func (m *overlap) due() int64 {
	end := max(m.first.Asked, m.first.Call) + m.Header.Lease - m.Header.Drift
	if toldTooLate(m.first) {
		end = min(end, m.first.ValidUntil)
	}
	return m.Header.Epoch + end
}

// byReadClock explains a grant whose client compared a time that it read from the server with its own clock: its clock was wrong, or that of the client
// that had set the time.
func (m *overlap) byReadClock(p pairing) Answer {
	for _, i := range p.second.events {
		e := &p.second.node.events[i]
		var until int64
		var unit float64
		for _, text := range timesIn(e.cmd.Reply) {
			if at, in := m.timeIn(text, e.cmd.Sent); in != 0 {
				until, unit = at, in
			}
		}
		if unit == 0 || m.asks.writes(e.cmd) || i < p.first.first() { // the time is its own, or belonged to another hold
			continue
		}
		if short := m.due() - until - int64(unit); short > 0 && m.due() > m.Header.Epoch+p.second.time() {
			return because(verdicts.ClockSkew, sentence("by true time ", Name(m.second.Client), " would have been refused: the time that it read with ", Name(e.cmd.Name), " was set by ",
				Name(m.first.Client), ", at least ", Length(short), " before the end of its lease"), p.first.reported(), p.second.reported())
		}
		if until <= m.Header.Epoch+e.cmd.Sent {
			return m.expired(p, e.at, "had it not been past the time that ", Name(m.second.Client), " had read with ", Name(e.cmd.Name))
		}
		return because(verdicts.ClockSkew, sentence("by true time ", Name(m.second.Client), " would have been refused: the time that it read with ", Name(e.cmd.Name), " was ",
			Length(until-m.Header.Epoch-e.cmd.Sent), " ahead"), p.first.reported(), p.second.reported())
	}
	return Answer{}
}
