package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// conclude answers by the end of a mark; all are the ends that count with it.
func (p *pair) conclude(f fate, all []fate) Answer {
	a := Answer{Cause: name(p, &f)}
	first, second := Name(p.first.op.Client), Name(p.second.Client)
	if f.at >= 0 {
		ended := p.report(f.node, f.at, f.key, p.first.op.Client)
		// what it has instead may be older
		if back := f.by == history.Promoted || f.by == history.Restarted; back && !slices.Contains(ended.Lost, f.key) {
			ended.Lost = append(ended.Lost, f.key)
		}
		a.Events = append(a.Events, ended)
	}
	if len(p.try) == 0 {
		a.Events = append(a.Events, Event{At: p.second.Return, Op: p.second, NoCommand: true})
		a.Says = sentence(second, " was granted it at ", Instant(p.second.Return), " without a request to a server")
		return a
	}
	granting, at := p.granting()
	switch {
	case f.at < 0 && a.Cause == verdicts.QuorumErosion:
		a.Says = sentence(second, " was granted it by ", strconv.Itoa(len(p.votes())), " nodes; a quorum is ", strconv.Itoa(p.quorum()))
		return a
	case f.by == never && p.second.Op != history.Acquire:
		a.Says = sentence("the grant of ", first, " left nothing at a server")
	case f.by == never:
		a.Says = sentence("the grant of ", first, " left nothing at a server that could refuse ", granting, " at ", Instant(at))
	case f.by == apart && p.second.Op != history.Acquire:
		a.Says = sentence(history.Node(p.homeOf()).String(), " granted it to ", first, ", and ", history.Node(f.node.index).String(), ", which was asked at ", Instant(at), ", never had it: there were two primaries")
	case f.by == apart:
		a.Says = sentence(history.Node(p.homeOf()).String(), " granted it to ", first, ", and ", history.Node(f.node.index).String(), " to ", second, ": there were two primaries")
	case f.at < 0 && len(p.votes()) == 0:
		a.Says = sentence(first, "'s ", Key(f.key), " was still there when ", second, " was granted it, though ", granting, " at ", Instant(at), " took nothing", p.onNodes(all))
	case f.at < 0:
		a.Says = sentence(first, "'s ", Key(f.key), " was still there when ", granting, " was granted at ", Instant(at), p.onNodes(all))
	case f.by == taken && f.node.events[f.at].Client == p.second.Client && f.node.events[f.at].Op == p.second.ID:
		did := map[Hit]string{Freed: " deleted ", Cut: " removed a part of "}[a.Events[0].Hit]
		a.Says = sentence(f.node.words(f.at, f.key), cmp.Or(did, " overwrote "), Key(f.key), ", which was ", first, "'s", p.onNodes(all))
	case f.by == lapsed:
		a.Says = sentence("without ", f.node.words(f.at, f.key), p.onNodes(all), ", ", Key(f.key), " would have ended by its lease")
	case p.second.Op == history.Acquire:
		a.Says = sentence("without ", f.node.words(f.at, f.key), p.onNodes(all), ", ", second, " would have been refused")
	default:
		a.Says = sentence("without ", f.node.words(f.at, f.key), p.onNodes(all), ", ", granting, " at ", Instant(at), " would have found its hold")
	}
	a.Says = append(a.Says, p.besides(&f, a.Cause)...)
	if again := p.again(&f); again >= 0 && (a.Cause == verdicts.Resurrection || a.Cause == verdicts.MisUnlock) && f.by == expired {
		a.Events = append(a.Events, p.report(f.node, again, f.key, ""))
	}
	for i := range p.try {
		if q := &p.try[i]; q.event != nil && q.grants() && p.second.Op == history.Acquire {
			x := p.report(q.node, q.pos, "", "")
			x.Granted = true
			a.Events = append(a.Events, x)
			break
		}
	}
	return a
}

// besides adds to a sentence why a lease ended as it did.
func (p *pair) besides(f *fate, cause verdicts.Cause) statement {
	first := Name(p.first.op.Client)
	switch {
	case cause == verdicts.ClockSkew && f.by != expired && (f.by == there || !p.drifted(f)):
		return sentence("; a client's clock was wrong")
	case cause == verdicts.LeaseOverrun && f.by != expired:
		return sentence("; ", first, " had been told that its lease was over")
	case cause == verdicts.ClockSkew, cause == verdicts.ClockJump && (f.by == expired || f.by == never):
		return sentence(": the node's clock was wrong")
	case f.by != expired:
		return nil
	}
	switch cause {
	case verdicts.Resurrection:
		return sentence("; ", f.node.words(p.again(f), f.key), " then created it again")
	case verdicts.MisUnlock:
		return sentence("; ", f.node.words(p.again(f), f.key), " then changed it")
	case verdicts.Overbelief:
		return sentence("; ", first, " had been told of a longer lease")
	case verdicts.RenewalGap:
		return sentence("; the lock did not renew it in time")
	}
	return nil
}

// onNodes names the nodes of several ends, if the lock has several.
func (r *run) onNodes(all []fate) string {
	var names []string
	for i := range all {
		if name := history.Node(all[i].node.index).String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(r.nodes) < 2 || len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(names, ", ") + ")"
}
