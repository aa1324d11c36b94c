package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// pair is the question: what became of the first hold's mark before the second was granted.
type pair struct {
	*run
	first  *hold
	second *history.Operation // an acquire or an extend that was granted, or the operation that found the mark gone
	at     int64              // when the second was granted
	try    []query            // the second's
	seen   int64              // when the violation was seen
	beside []*hold            // those that held permits beside the first
}

func (r *run) pair(first *hold, second *history.Operation, seen int64) *pair {
	return &pair{run: r, first: first, second: second, at: r.grantedAt(second), try: r.try(second, math.MaxInt64), seen: seen}
}

// answer asks the question.
func (p *pair) answer() Answer {
	switch {
	case len(p.try) == 0 && (len(p.sent) == 0 || len(p.sent[p.second.ID]) > 0):
		return Answer{}
	case !p.known(p.try, p.run.try(p.first.op, math.MaxInt64)):
		return Answer{}
	case len(p.try) == 0:
		return p.conclude(fate{at: -1, by: there}, nil)
	}
	marks := p.marks(p.first)
	if len(marks) == 0 {
		return p.conclude(fate{at: -1, by: never}, nil)
	}
	var ends []fate
	handed := p.handed()
	granter := p.granter()
	for _, m := range marks {
		m = p.copyOn(granter, m)
		to := p.before(m.node)
		if handed != nil {
			to = m.node.by(handed.At)
		}
		for part := range m.parts {
			ends = append(ends, p.fateOf(m, part, to))
		}
	}
	slices.SortFunc(ends, func(a, b fate) int {
		return cmp.Or(cmp.Compare(a.time(), b.time()), cmp.Compare(a.node.index, b.node.index), cmp.Compare(a.key, b.key), cmp.Compare(a.name, b.name))
	})
	gone := slices.DeleteFunc(slices.Clone(ends), func(f fate) bool { return f.at < 0 })
	if len(gone) == 0 {
		if i := slices.IndexFunc(ends, func(f fate) bool { return f.by == apart }); i >= 0 {
			return p.conclude(ends[i], ends)
		}
		return p.conclude(ends[0], ends)
	}
	if p.quorum() > 1 {
		return p.outvoted(gone)
	}
	if handed != nil { // the second asked nothing then
		return p.conclude(gone[0], gone)
	}
	others := p.goneBeside()
	for _, group := range byEvent(gone) {
		all := slices.Concat(group, others)
		if p.refused(p.try, all, false) {
			return p.conclude(group[0], group)
		}
		if p.refused(p.try, all, true) {
			group[0].lapsed = true
			return p.conclude(group[0], group)
		}
	}
	if its := slices.IndexFunc(gone, func(f fate) bool { return f.by == taken }); its >= 0 {
		return p.conclude(gone[its], gone)
	}
	// it had looked before the first was granted, and would not have been refused after it
	if len(p.try) > 1 && p.try[0].at < p.first.granted {
		return p.conclude(fate{part: ends[0].part, node: ends[0].node, at: -1, by: there}, ends)
	}
	return Answer{}
}

// goneBeside returns what ended the marks of those that held permits beside the first: with one
// permit less, the second may not have been refused.
func (p *pair) goneBeside() (ends []fate) {
	for _, h := range p.beside {
		for _, m := range p.marks(h) {
			for part := range m.parts {
				if f := p.run.pair(h, p.second, p.seen).fateOf(m, part, p.before(m.node)); f.at >= 0 {
					ends = append(ends, f)
				}
			}
		}
	}
	return ends
}

// handed returns the command of another client that granted the second, as a release that hands the
// lock to the next who waits; nil: its own did.
func (p *pair) handed() (by *event) {
	if len(p.second.Token) < 8 { // shorter ones may be anything's
		return nil
	}
	for _, n := range p.nodes {
		for i := n.by(p.first.granted); i < n.by(p.second.Return); i++ {
			e := &n.events[i]
			for j := range e.Changes {
				for at := range set(&e.Changes[j]) {
					if text, _ := data(e.Changes[j].After, at.name); e.Effect == "" && text == p.second.Token {
						by = e
					}
				}
			}
		}
	}
	if by != nil && by.Client == p.second.Client {
		return nil
	}
	return by
}

// time returns when a mark ended; those that did not come last.
func (f *fate) time() int64 {
	if f.at < 0 {
		return math.MaxInt64
	}
	return f.node.events[f.at].At
}

// before returns the event of a node before which the second's last request came, its own effect
// included.
func (p *pair) before(n *node) int {
	to := -1
	for i := range p.try {
		if q := &p.try[i]; q.node == n && (to < 0 || q.grants() || !p.grantsOn(n)) {
			to = q.pos
			if q.event != nil {
				to++
			}
		}
	}
	if to < 0 {
		return n.by(p.at)
	}
	return to
}

func (p *pair) grantsOn(n *node) bool {
	return slices.ContainsFunc(p.try, func(q query) bool { return q.node == n && q.grants() })
}

// byEvent groups ends by their event, in order.
func byEvent(ends []fate) (groups [][]fate) {
	for _, f := range ends {
		if i := slices.IndexFunc(groups, func(g []fate) bool { return g[0].node == f.node && g[0].at == f.at }); i >= 0 {
			groups[i] = append(groups[i], f)
			continue
		}
		groups = append(groups, []fate{f})
	}
	return groups
}

// quorum returns how many nodes must grant.
func (r *run) quorum() int { return max(r.Header.Quorum, 1) }

// outvoted names the end that cost the first the votes by which the second got its majority.
func (p *pair) outvoted(gone []fate) Answer {
	votes := map[int]bool{}
	for i := range p.try {
		if q := &p.try[i]; q.grants() {
			votes[q.node.index] = true
		}
	}
	if len(votes) < p.quorum() {
		return p.conclude(fate{at: -1, by: there}, nil)
	}
	var causes []verdicts.Cause
	by := map[verdicts.Cause][]fate{}
	for _, f := range gone {
		if !votes[f.node.index] {
			continue
		}
		c := name(p, &f)
		if by[c] == nil {
			causes = append(causes, c)
		}
		by[c] = append(by[c], f)
	}
	for _, c := range causes {
		cost := map[int]bool{}
		for _, f := range by[c] {
			cost[f.node.index] = true
		}
		if len(votes)-len(cost) < p.quorum() && p.refused(p.try, by[c], false) {
			return p.conclude(by[c][0], by[c])
		}
	}
	return Answer{}
}

// The conditions of the table.

// early reports whether a mark ended before it would have by a right clock, because the node's was
// set.
func (p *pair) early(f *fate) bool { return p.clockEffect(f) == history.ClockSet }

// drifted is early for a node whose clock ran at a wrong rate.
func (p *pair) drifted(f *fate) bool { return p.clockEffect(f) == history.ClockRate }

// clockEffect returns what was done to a node's clock, by which a mark ended before the second's
// grant, or was never kept; "": by a right clock it would have, too.
func (p *pair) clockEffect(f *fate) string {
	if f.by == never {
		for _, q := range p.run.try(p.first.op, math.MaxInt64) {
			if _, changes := p.ask(&q, nil, nil, q.at); p.own(q.node, q.at) != q.at && setsMore(changes, nil) {
				return p.clockSet(q.node, q.at, q.at)
			}
		}
		return ""
	}
	given := p.first.granted
	due := given + p.Header.Lease
	for _, i := range f.node.byKey[f.key] {
		e, c := &f.node.events[i], f.node.change(i, f.key)
		if i >= f.at || e.Effect != "" || c.After == nil {
			continue
		}
		if e.At > given && e.Client == p.first.op.Client {
			given = e.At
		}
		if c.After.Until != 0 && (c.Before == nil || c.Before.Until != c.After.Until) {
			due = p.dueOf(f.node, e, c)
		}
	}
	if due-effects.Grain <= p.at {
		return ""
	}
	return p.clockSet(f.node, given, f.time())
}

// dueOf returns when a lease that a command gave would have ended by a right clock.
func (p *pair) dueOf(n *node, e *event, c *history.DataChange) int64 {
	if e.cmd != nil && p.own(n, e.At) != e.At {
		q := p.queryOf(e.cmd)
		_, changes := p.ask(&q, nil, nil, q.at)
		for _, its := range changes {
			if its.Key == c.Key && its.After != nil && its.After.Until != 0 {
				return its.After.Until
			}
		}
	}
	return e.At + p.clockAt(n.index, e.At).Shows(c.After.Until-e.At)
}

// clockSet returns the last that was done to a node's clock by an instant, if that was after a
// lease was given or the clock was still wrong then. It was seen at its instant, and happened since
// the fault began, or its end.
func (p *pair) clockSet(n *node, given, by int64) (what string) {
	last := int64(math.MinInt64)
	for i := range p.Faults {
		w := &p.Faults[i]
		for j := range w.Effects {
			e := &w.Effects[j]
			since := w.Start
			if w.Ending != 0 && e.At >= w.Ending {
				since = w.Ending
			}
			if clock := e.What == history.ClockSet || e.What == history.ClockRate; clock && e.Node == n.index && min(e.At, since) <= by && e.At > last &&
				(e.At >= given || p.own(n, given) != given) {
				what, last = e.What, e.At
			}
		}
	}
	return what
}

// madeAgain reports whether the first's client believed again because of a renewal that made its
// ended mark again.
func (p *pair) madeAgain(f *fate) bool {
	i := p.again(f)
	return i >= 0 && f.node.change(i, f.key).Before == nil
}

// tookOver reports whether it did because of a renewal that changed what was another's by then.
func (p *pair) tookOver(f *fate) bool { return p.again(f) >= 0 && !p.madeAgain(f) }

// again returns the renewal after the end of a mark by which the first's client believed in it when
// the violation was seen; -1: none.
func (p *pair) again(f *fate) int {
	if f.at < 0 {
		return -1
	}
	for _, i := range f.node.byKey[f.key] {
		e := &f.node.events[i]
		if i > f.at && e.At <= p.seen && e.Effect == "" && e.Client == p.first.op.Client && (e.op == nil || e.op.Op == history.Extend) {
			if p.told(p.first, e.At-1) >= p.seen {
				return -1
			}
			return i
		}
	}
	return -1
}

// believed reports whether the first's client had been told of a longer time than its node kept the
// mark, then or by a renewal that found nothing.
func (p *pair) believed(f *fate) bool {
	then := p.told(p.first, f.time())
	if lost := p.first.lost; lost != 0 && lost <= p.at {
		then = min(then, lost)
	}
	return then > max(p.at, f.time()+effects.Grain) || p.told(p.first, p.seen) > max(p.at, p.seen)
}

// ended reports whether the first's client had been told that its hold was over.
func (p *pair) ended(*fate) bool { return p.told(p.first, p.seen) <= p.at }

// outlived reports whether a mark had ended by the lock's own reckoning when it was cleared away.
func (p *pair) outlived(f *fate) bool { return f.lapsed }

func (p *pair) shared(*fate) bool { return p.first.op.Mode == history.Shared }

// crowdedOut reports whether another reader's acquire, which was not in question, took a reader's
// mark.
func (p *pair) crowdedOut(f *fate) bool {
	op := f.node.events[f.at].op
	return p.shared(f) && op.Mode == history.Shared && op != p.second
}

// late reports whether a command had been sent before the first's own request.
func (p *pair) late(f *fate) bool {
	e := &f.node.events[f.at]
	return e.cmd != nil && slices.ContainsFunc(p.run.try(p.first.op, math.MaxInt64), func(q query) bool {
		return q.node == f.node && q.grants() && e.cmd.Sent < q.cmd.Sent
	})
}

// unrenewed reports whether the lock renews, and nothing kept the first's client from it.
func (p *pair) unrenewed(f *fate) bool {
	return p.Header.Renews && !p.hindered(p.first.granted, f.time())
}

// hindered reports whether a confirmed fault, of the first's client or of a node that it asked, may
// have kept it from renewing.
func (p *pair) hindered(from, to int64) bool {
	return slices.ContainsFunc(p.Faults, func(w history.Window) bool {
		asked := w.Node < 0 || slices.ContainsFunc(p.sent[p.first.op.ID], func(c *history.Command) bool { return c.Node == w.Node })
		return w.Confirmed && w.Does.Any(history.Hinders|history.Kills) && w.Start <= to && w.Last() >= from &&
			(w.Client == p.first.op.Client || w.Client == "" && asked)
	})
}

// unasked reports whether the second was granted without a request.
func (p *pair) unasked(*fate) bool { return len(p.try) == 0 }

// eroded reports whether fewer nodes than a quorum granted the second.
func (p *pair) eroded(*fate) bool {
	return p.quorum() > 1 && p.votes() < p.quorum()
}
