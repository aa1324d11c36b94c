package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// The sweep finds a reason for each reply by itself, and the windows know grants and refusals only. A key that is too long for an exact search of all of it,
// and not too long for many of a little, is therefore searched piece by piece: replies that follow one another, in pieces of which each begins in the
// middle of the one before. Where a piece has no execution each of its replies is searched by itself, which shows the property that is broken. That
// decides linearizability in place of the windows, and finds what the sweep passed.

// Bounds on that.
const (
	maxSought = 2000   // operations of a key
	soughtAll = 50_000 // operations of a record
	piece     = 24     // replies of a piece
)

// seek reports the operations of a key that no execution of what is near them explains, and the property whose rule they break, unless one was found
// there already. Parts that were searched exactly are left out.
func (n *vicinity) seek(of map[verdicts.Property]*tally, findings []partFinding) {
	t := of[verdicts.Linearizability]
	whole := !slices.ContainsFunc(findings, func(f partFinding) bool { return !f.known })
	if n.opt.Unsearched || n.k.operations() > maxSought || n.a.lines > soughtAll || t.violations > len(t.kept) || whole {
		return
	}
	windows := *t
	t.kept = slices.DeleteFunc(slices.Clone(t.kept), func(v Violation) bool { return !decided(findings, v.At, plus(v.At, v.Lasted)) })
	t.violations, t.within = len(t.kept), 0
	exact := t.violations
	var replies []*record
	for r := range n.k.walk() {
		if answered(r) && !decided(findings, r.call, r.call) {
			replies = append(replies, r)
		}
	}
	switch all := n.pieces(of, replies); {
	case all: // that decides what the windows left open
		t.undecided = 0
		for _, why := range []string{withinClockError, notSearched} {
			t.restore(t.notJudged[why], why)
		}
		if t.windowed > 0 { // a part that was not searched counted beside its windows
			t.opportunities = min(t.opportunities, t.windowed)
		}
	case t.violations == exact:
		t.violations, t.within, t.kept = windows.violations, windows.within, windows.kept
	}
}

// pieces searches replies piece by piece and reports whether all were searched. A release is searched by itself too, for what comes after it. Replies of
// which each has an execution by itself may have none together: a piece that was given up was not searched.
func (n *vicinity) pieces(of map[verdicts.Property]*tally, replies []*record) (all bool) {
	all = true
	for next := 0; next < len(replies); {
		x, end := n.piece(replies, next)
		exists, known := false, false
		if x != nil {
			exists, known = x.exist(allRules)
		}
		all = all && (x == nil || known)
		found := of[verdicts.Linearizability].violations
		for _, r := range replies[next:end] {
			if !exists || r.op == history.Release {
				all = n.judge(of, r) && all
			}
		}
		if known && !exists && of[verdicts.Linearizability].violations == found {
			n.report(of, x)
		}
		next = end
	}
	return all
}

// piece returns the executions of the replies from one on, to an end, and of as many before; nil if even those of one are too much to search.
func (n *vicinity) piece(replies []*record, next int) (x *executions, end int) {
	for size := piece; size > 1; size /= 2 {
		end = min(next+size/2, len(replies))
		if x = n.around(replies[max(0, end-size):end], everything); x != nil {
			return x, end
		}
	}
	return nil, min(next+1, len(replies))
}

// judge searches what is near an operation and reports whether that was not too much.
func (n *vicinity) judge(of map[verdicts.Property]*tally, r *record) (known bool) {
	f, whole := n.finding(of, r)
	if known = f.all || f.none && whole; !known && r.op != history.Acquire {
		if alone := n.contradicted(r); alone != nil { // one that its own client explains may yet be wrong
			f, known = alone.finding(of), true
		}
	}
	if f.all || !known { // what breaks another property has no execution either
		return known
	}
	n.blameNear(of, &f, r)
	n.report(of, f.x)
	return true
}

// report reports operations without an execution, unless that was found near them already.
func (n *vicinity) report(of map[verdicts.Property]*tally, x *executions) {
	t, near := of[verdicts.Linearizability], partFinding{x: x, from: x.first, to: x.last() + 1}
	if !near.breaks(t) {
		t.applies = true
		n.reportPart(t, of, &near)
	}
}

// last returns the latest return of the operations that are searched.
func (x *executions) last() (at int64) {
	for i := range x.effects {
		if x.effects[i].to < never {
			at = max(at, x.effects[i].to)
		}
	}
	return at
}

// answered reports whether an operation asked something of the lock that the record answers.
func answered(r *record) bool {
	return r.op == history.Acquire && (r.outcome == history.Busy || r.granted()) || (r.op == history.Release || r.op == history.Extend) && (r.outcome == history.OK || r.saysGone())
}

// blameNear reports the property that operations near r break, which have no execution, if there is one to blame and none of its sort was found broken
// there. Another operation than r is to blame only if what is near it shows that too.
func (n *vicinity) blameNear(of map[verdicts.Property]*tally, f *partFinding, r *record) {
	t := of[blamed[f.broken]]
	if t == nil || f.breaks(of[verdicts.MutualExclusion]) { // nothing is to blame, or grants are, with all that follows from them
		return
	}
	for _, p := range blamed {
		if f.breaks(of[p]) {
			return
		}
	}
	set := f.refused
	if set == nil {
		set, _ = f.x.culprits(f.clearest(f.broken), f.broken)
	}
	for _, b := range set {
		if why, left := t.left[b]; left && why != unknownOutcomes {
			continue
		}
		if its, whole := n.finding(of, r, b); whole && its.broken == f.broken {
			n.reportBlamed(t, its.x, b, f.broken)
		}
	}
}
