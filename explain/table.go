package explain

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
)

// table is CAUSES: what became of the first hold's mark, and under which condition, before the
// second was granted. The first row that fits counts; a violation that fits none is unknown.
var table = []struct {
	end   end
	when  func(*pair, *fate) bool // nil: always
	cause verdicts.Cause
}{
	{history.Restarted, nil, verdicts.RestartLoss},
	{history.Promoted, nil, verdicts.FailoverLoss},
	{history.Demoted, nil, verdicts.FailoverLoss},
	{apart, nil, verdicts.SplitBrain},
	{history.Evicted, nil, verdicts.Eviction},
	{history.Deleted, nil, verdicts.KeyDeleted},
	{history.ClockSet, nil, verdicts.ClockJump},

	{expired, (*pair).early, verdicts.ClockJump},
	{expired, (*pair).drifted, verdicts.ClockSkew},
	{expired, (*pair).madeAgain, verdicts.Resurrection},
	{expired, (*pair).tookOver, verdicts.MisUnlock},
	{expired, (*pair).believed, verdicts.Overbelief},
	{expired, (*pair).unrenewed, verdicts.RenewalGap},
	{expired, nil, verdicts.LeaseOverrun},

	{lapsed, nil, verdicts.LeaseOverrun},

	{freed, (*pair).shared, verdicts.ReaderEvicted},
	{freed, nil, verdicts.MisUnlock},

	{byItself, (*pair).late, verdicts.LateRequest},
	{byItself, nil, verdicts.OwnRelease},

	{taken, (*pair).early, verdicts.ClockJump},
	{taken, (*pair).drifted, verdicts.ClockSkew},
	{taken, (*pair).ended, verdicts.LeaseOverrun},
	{taken, (*pair).mistimed, verdicts.ClockSkew},
	{taken, (*pair).crowdedOut, verdicts.ReaderEvicted},
	{taken, nil, verdicts.DoubleGrant},

	{never, (*pair).early, verdicts.ClockJump},
	{never, (*pair).drifted, verdicts.ClockSkew},
	{never, nil, verdicts.DoubleGrant},

	{there, (*pair).unasked, verdicts.StaleReentry},
	{there, (*pair).eroded, verdicts.QuorumErosion},
	{there, (*pair).skewed, verdicts.ClockSkew},
	{there, (*pair).ended, verdicts.LeaseOverrun},
	{there, nil, verdicts.DoubleGrant},
}

// name returns the cause of the first row that fits.
func name(p *pair, f *fate) verdicts.Cause {
	for _, row := range table {
		if row.end == f.by && (row.when == nil || row.when(p, f)) {
			return row.cause
		}
	}
	return verdicts.CauseUnknown
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
			own := p.own(q.node, q.at)
			_, did := p.ask(&q, nil, nil, own)
			if _, would := p.ask(&q, nil, nil, q.at); own != q.at && setsMore(would, did) {
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

// unrenewed reports whether the lock renews, and no confirmed fault, of the first's client or of a
// node that it asked, may have kept it from that.
func (p *pair) unrenewed(f *fate) bool {
	return p.Header.Renews && !slices.ContainsFunc(p.Faults, func(w history.Window) bool {
		asked := w.Node < 0 || slices.ContainsFunc(p.sent[p.first.op.ID], func(c *history.Command) bool { return c.Node == w.Node })
		return w.Confirmed && w.Does.Any(history.Hinders|history.Kills) && w.Start <= f.time() && w.Last() >= p.first.granted &&
			(w.Client == p.first.op.Client || w.Client == "" && asked)
	})
}

// unasked reports whether the second was granted without a request.
func (p *pair) unasked(*fate) bool { return len(p.try) == 0 }

// eroded reports whether fewer nodes than a quorum granted the second.
func (p *pair) eroded(*fate) bool {
	return p.quorum() > 1 && len(p.votes()) < p.quorum()
}

// mistimed reports whether the request that took a mark, or the one that made it, had times of a
// wrong clock.
func (p *pair) mistimed(f *fate) bool {
	wrong := func(c *history.Command) bool {
		_, instead := p.righted(c)
		return len(instead) > 0
	}
	e := &f.node.events[f.at]
	return e.cmd != nil && wrong(e.cmd) || slices.ContainsFunc(p.run.try(p.first.op, p.seen), func(q query) bool { return wrong(q.cmd) })
}

// skewed reports whether a fault had set the clock of one of the two clients wrong, and with right
// times, in the first's mark and in the second's request, that request is refused; or the second
// decided by its wrong clock itself, from what it had read.
func (p *pair) skewed(*fate) bool {
	words := map[string]string{}
	for _, q := range p.run.try(p.first.op, p.seen) {
		_, instead := p.righted(q.cmd)
		for was, is := range instead {
			words[was] = is
		}
	}
	changed := len(words) > 0
	var back []fate
	for _, m := range p.marks(p.first) {
		for at, w := range m.parts {
			text := w.text
			if right, wrong := words[text]; wrong {
				text = right
			}
			back = append(back, fate{part: at, text: text, node: m.node, at: -1, by: there})
		}
	}
	try := slices.Clone(p.try)
	for i := range try {
		args, instead := p.righted(try[i].cmd)
		if len(instead) > 0 && try[i].grants() && slices.ContainsFunc(try, func(q query) bool { return !resp.IsWrite(q.cmd.Name) && q.cmd.Script == "" }) {
			return true
		}
		if len(instead) > 0 {
			c := *try[i].cmd
			c.Args, changed = args, true
			try[i].cmd = &c
		}
	}
	return changed && p.refused(try, back, false)
}
