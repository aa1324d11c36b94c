package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

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
	handed := p.handed()
	ends := p.ends(marks, handed)
	gone := slices.DeleteFunc(slices.Clone(ends), func(f fate) bool { return f.at < 0 })
	switch {
	case len(gone) == 0:
		return p.conclude(p.left(ends), ends)
	case p.quorum() > 1:
		return p.outvoted(gone)
	case handed != nil: // the second asked nothing then
		return p.conclude(gone[0], gone)
	}
	others := p.goneBeside()
	for _, group := range byEvent(gone) {
		all := slices.Concat(group, others)
		if p.refused(p.try, all, false) {
			return p.conclude(group[0], group)
		}
		if p.refused(p.try, all, true) {
			if group[0].by == freed {
				group[0].by = lapsed
			}
			return p.conclude(group[0], group)
		}
	}
	if its := slices.IndexFunc(gone, func(f fate) bool { return f.by == taken }); its >= 0 {
		return p.conclude(gone[its], gone)
	}
	// it had looked before the first was granted, and would not have been refused after it
	if len(p.try) > 1 && p.try[0].at < p.first.granted {
		a := p.conclude(fate{part: ends[0].part, node: ends[0].node, at: -1, by: there}, ends)
		looked := p.try[0].cmd
		a.Says = sentence(Name(looked.Client), "'s ", called(looked.Name, looked.Script, looked.Args), " at ", Instant(p.try[0].at), " looked before ", Name(p.first.op.Client), " was granted it")
		return a
	}
	return Answer{}
}

// ends returns what became of each part of some marks before the second's request, or before
// another handed it the lock, by time.
func (p *pair) ends(marks map[int]*mark, handed *event) (ends []fate) {
	granter := p.granter()
	// what something removed would have ended by its lease before the second was granted, as the
	// first's client had been told, which did not learn of the removal
	told := !p.Header.Renews && p.first.lost == 0 && p.told(p.first, p.at) <= p.at &&
		!slices.ContainsFunc(p.first.extends, func(x *history.Operation) bool { return x.Outcome != history.OK })
	for _, m := range marks {
		m = p.copyOn(granter, m)
		to := p.before(m.node)
		if handed != nil {
			to = m.node.by(handed.At)
		}
		for part := range m.parts {
			f := p.fateOf(m, part, to)
			if f.at >= 0 && f.by != expired && told {
				if was := f.node.lastWith(f); was != nil && was.Until != 0 && was.Until <= p.at {
					f.by = lapsed
				}
			}
			ends = append(ends, f)
		}
	}
	slices.SortFunc(ends, func(a, b fate) int {
		return cmp.Or(cmp.Compare(a.time(), b.time()), cmp.Compare(a.node.index, b.node.index), comparePart(a.part, b.part))
	})
	return ends
}

// left returns which of a mark's parts, of which nothing ended any, an answer names: one that was
// on another primary, else one that carries the token.
func (p *pair) left(ends []fate) fate {
	its := slices.IndexFunc(ends, func(f fate) bool { return f.by == apart })
	if token := p.first.op.Token; its < 0 && token != "" {
		its = slices.IndexFunc(ends, func(f fate) bool { return f.name == token || f.text == token })
	}
	return ends[max(its, 0)]
}

// goneBeside returns what ended the marks of those that held permits beside the first: with one
// permit less, the second may not have been refused.
func (p *pair) goneBeside() (ends []fate) {
	for _, h := range p.beside {
		for _, m := range inOrder(p.marks(h)) {
			for _, part := range slices.SortedFunc(maps.Keys(m.parts), comparePart) {
				if f := p.run.pair(h, p.second, p.seen).fateOf(m, part, p.before(m.node)); f.at >= 0 {
					ends = append(ends, f)
				}
			}
		}
	}
	return ends
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

// outvoted names the end that cost the first the votes by which the second got its majority.
func (p *pair) outvoted(gone []fate) Answer {
	votes := p.votes()
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
