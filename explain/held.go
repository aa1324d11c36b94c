package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// shownBy returns the acquires by which a violation's clients held, ordered by call.
func (r *run) shownBy(v *checker.Violation) (out []*history.Operation) {
	for i := range v.Witness.Holds {
		out = append(out, r.standing(r.ops[v.Witness.Holds[i].Acquire.ID], v.At))
	}
	for _, o := range v.Witness.All() {
		switch op := &o; {
		case op.Op == history.Acquire && op.Outcome == history.OK:
			out = append(out, r.standing(r.ops[op.ID], v.At))
		case op.Op == history.Use || op.Op == history.Write:
			out = append(out, r.under(op))
		}
	}
	return byGrant(out)
}

// byGrant orders acquires by return, each once.
func byGrant(acquires []*history.Operation) []*history.Operation {
	acquires = slices.DeleteFunc(acquires, func(op *history.Operation) bool { return op == nil })
	slices.SortStableFunc(acquires, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
	seen := map[*history.Operation]bool{}
	return slices.DeleteFunc(acquires, func(op *history.Operation) bool {
		was := seen[op]
		seen[op] = true
		return was
	})
}

// holding returns those of a violation's holds that existed at its instant; all if fewer than two did.
func (r *run) holding(v *checker.Violation) []*history.Operation {
	all := r.shownBy(v)
	out := slices.DeleteFunc(slices.Clone(all), func(op *history.Operation) bool { return op.Return > v.At || r.gone(op, v.At) })
	if len(out) < 2 {
		return all
	}
	return out
}

// standing returns an acquire or, in place of an inner one of a re-entrant client that was leaving its hold at an instant, that of the hold around it, if
// the lease of that was running when the inner one was granted: the release ended the inner hold, and what took the outer one may have come before. If it
// was not, the inner hold was one of its own at the server.
func (r *run) standing(acquire *history.Operation, at int64) *history.Operation {
	if acquire == nil || r.Header.Kind != history.Reentrant {
		return acquire
	}
	release := r.releaseOf(acquire)
	if release == nil || release.Outcome == history.Fail || release.Call >= at {
		return acquire
	}
	outer := r.heldBefore(&history.Operation{Client: acquire.Client, Key: acquire.Key, Call: release.Return})
	if outer == nil || r.kept(outer, acquire.Return) <= acquire.Return {
		return acquire
	}
	return outer
}

// gone reports whether the hold of an operation had been released by an instant. A server keeps one key for all holds of a re-entrant client, so the
// release of an inner hold ends none, and one that failed is not known to have ended its hold.
func (r *run) gone(op *history.Operation, at int64) bool {
	released := func(h *checker.Hold) bool {
		return h.Release != nil && h.Release.Outcome != history.Fail && h.Release.Return < at
	}
	h := r.holdOf[op.ID]
	return h != nil && released(h) && !(r.Header.Kind == history.Reentrant && slices.ContainsFunc(r.holds, func(o checker.Hold) bool {
		return o.Client == h.Client && o.Acquire.Key == h.Acquire.Key && o.Start() <= at && !released(&o)
	}))
}

// beside returns the hold that a violation of release-safety ended or changed, and those granted while its client believed in it.
func (r *run) beside(v *checker.Violation) []*history.Operation {
	wronged := r.held(v.Clients[0], v.Key, v.At)
	if wronged == nil {
		return nil
	}
	end := r.until(wronged, v.At)
	if release := r.releaseOf(wronged); release != nil {
		end = min(end, release.Call)
	}
	holds := []*history.Operation{wronged}
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Key == v.Key && op.Op == history.Acquire && op.Outcome == history.OK && op.Return > v.At && op.Return < end {
			holds = append(holds, op)
		}
	}
	return holds
}

// between adds to the given holds those granted from the first of them until the damage, and those under which a write may have taken effect between the
// writes that show the damage.
func (r *run) between(holds []*history.Operation, v *checker.Violation) []*history.Operation {
	out := slices.Clone(holds)
	from, first := v.At, holds[0].Return
	for _, o := range v.Witness.All() {
		if o.Op == history.Write {
			from = min(from, o.Call)
		}
	}
	for i := range r.Ops {
		switch op := &r.Ops[i]; {
		case op.Key != v.Key:
		case op.Op == history.Acquire && op.Outcome == history.OK && op.Return >= first && op.Return <= v.At:
			out = append(out, op)
		case op.Op == history.Write && op.Outcome != history.Rejected && op.Call <= v.At && (op.Return >= from || op.Outcome == history.Unknown):
			out = append(out, r.under(op))
		}
	}
	const most = 16
	out = byGrant(out)
	return out[:min(len(out), most)]
}

// nearest returns holds in the order in which to examine their overlap with a later one: the latest first; of several permits the one whose client's
// belief ended first, because the others may be legal.
func (r *run) nearest(holds []*history.Operation, seen int64) []*history.Operation {
	holds = slices.Clone(holds)
	slices.Reverse(holds)
	if checker.Permits(r.Header) > 1 {
		slices.SortStableFunc(holds, func(a, b *history.Operation) int { return cmp.Compare(r.until(a, seen), r.until(b, seen)) })
	}
	return holds
}

// findHolds computes the holds of the record as the checker does. A record that breaks an assumption of the checker has none.
func (r *run) findHolds() {
	r.holds, _ = checker.Holds(r.Header, r.Ops, r.Faults)
	r.holdOf = map[uint64]*checker.Hold{}
	for i := range r.holds {
		for _, op := range r.holds[i].Operations() {
			r.holdOf[op.ID] = &r.holds[i]
		}
	}
}

// held returns the acquire of a client's latest hold at an instant; nil: none.
func (r *run) held(client, key string, at int64) (last *history.Operation) {
	for i := range r.holds {
		if h := &r.holds[i]; h.Client == client && h.Acquire.Key == key && h.Start() <= at {
			last = r.ops[h.Acquire.ID]
		}
	}
	return last
}

// heldBefore returns the acquire of the innermost hold that a client had when it called an operation; nil: none.
func (r *run) heldBefore(op *history.Operation) *history.Operation {
	if all := r.outer(op); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// outer returns the acquires of the holds that a client had when it called an operation, the innermost last.
func (r *run) outer(op *history.Operation) (all []*history.Operation) {
	for i := range r.holds {
		h := &r.holds[i]
		if h.Client == op.Client && h.Acquire.ID != op.ID && h.Acquire.Key == op.Key && h.Start() <= op.Call && (h.Release == nil || h.Release.Return > op.Call) {
			all = append(all, r.ops[h.Acquire.ID])
		}
	}
	return all
}

// under returns the acquire that wrote what the server keeps for a client when the client uses its hold; nil: none. That is the hold of the operation, the
// innermost that is open. Of a re-entrant client, for all whose holds the server keeps one key, it is the latest, even an inner one that was released,
// unless that was granted without a request or lay in one that is still there.
func (r *run) under(op *history.Operation) *history.Operation {
	latest := r.held(op.Client, op.Key, op.Call)
	h := r.holdOf[op.ID]
	switch {
	case r.Header.Kind != history.Reentrant && h != nil:
		return r.ops[h.Acquire.ID]
	case r.Header.Kind != history.Reentrant || latest != nil && !r.sent(latest):
		return cmp.Or(r.heldBefore(op), latest)
	}
	return r.standing(latest, op.Call)
}

// until returns the instant up to which a client believed in a hold, given what it knew at the instant by; math.MaxInt64 if it released earlier. A client
// that released an inner hold believes in the outer one.
func (r *run) until(acquire *history.Operation, by int64) (until int64) {
	h := r.holdOf[acquire.ID]
	if h == nil {
		return math.MaxInt64
	}
	for i, belief := range h.Belief {
		if i == 0 || belief.From <= by {
			until = belief.To
		}
	}
	if len(h.Belief) > 0 && until == h.Belief[0].To && toldTooLate(&h.Acquire) {
		return h.Acquire.ValidUntil
	}
	if h.Release != nil && until == h.Release.Call {
		outer := r.heldBefore(&history.Operation{ID: acquire.ID, Client: h.Client, Key: h.Acquire.Key, Call: h.Release.Call})
		if r.Header.Kind == history.Reentrant && outer != nil && cmp.Or(cmp.Compare(outer.Return, acquire.Call), cmp.Compare(outer.ID, acquire.ID)) < 0 {
			return r.until(outer, by)
		}
		return math.MaxInt64
	}
	return until
}

// toldTooLate reports whether an acquire told its client of an end that had passed already.
func toldTooLate(acquire *history.Operation) bool {
	return acquire.ValidUntil != 0 && acquire.ValidUntil <= acquire.Return
}

// kept returns the instant up to which a server keeps a hold, given its acquire and the extends that had returned at the instant by. It ignores an
// extend that came when the lease was over.
func (r *run) kept(acquire *history.Operation, by int64) (until int64) {
	h := r.holdOf[acquire.ID]
	if h == nil || r.Header.Lease == 0 {
		return math.MaxInt64
	}
	var end int64 // of the lease, at the earliest
	for _, op := range append([]history.Operation{h.Acquire}, h.Extends...) {
		if op.Outcome == history.OK && op.Return <= by && (end == 0 || op.Call < end) {
			until, end = max(until, r.told(&op)), max(op.Asked, op.Call)+r.Header.Lease
		}
	}
	return until
}

// told returns the instant up to which an acquire or extend that succeeded told its client that it holds.
func (r *run) told(op *history.Operation) int64 {
	return cmp.Or(op.ValidUntil, max(op.Asked, op.Call)+r.Header.Lease-r.Header.Drift)
}

// releaseOf returns the first release of a hold; nil: none.
func (r *run) releaseOf(acquire *history.Operation) *history.Operation {
	if h := r.holdOf[acquire.ID]; h != nil && h.Release != nil {
		return r.ops[h.Release.ID]
	}
	return nil
}

// workedUntil returns when the last critical section or write under a hold ended; math.MaxInt64 if none is recorded.
func (r *run) workedUntil(acquire *history.Operation) (end int64) {
	if h := r.holdOf[acquire.ID]; h != nil {
		for _, use := range h.Uses {
			end = max(end, use.Return)
		}
	}
	return cmp.Or(end, math.MaxInt64)
}

// grantedAt returns when the servers granted an acquire, by the last vote that it needed; if no commands show that, when its client was told.
func (r *run) grantedAt(op *history.Operation) int64 {
	var votes []int64
	for _, a := range r.attempts(op) {
		if a.grant >= 0 {
			at := a.time()
			if last := &a.node.events[a.last()]; last.cmd.Waits() { // it was granted while it waited there
				at = max(at, last.at)
			}
			votes = append(votes, min(at, op.Return))
		}
	}
	if slices.Sort(votes); len(votes) < r.quorum() {
		return op.Return
	}
	return votes[r.quorum()-1]
}

// releasedAt returns when the release of a hold took effect; math.MaxInt64 if none did.
func (r *run) releasedAt(acquire *history.Operation) int64 {
	release := r.releaseOf(acquire)
	if release == nil {
		return math.MaxInt64
	}
	for _, n := range r.nodes {
		for _, i := range n.byOp[release.ID] {
			if len(n.events[i].changes) > 0 {
				return n.events[i].at
			}
		}
	}
	if release.Outcome == history.OK {
		return release.Return
	}
	return math.MaxInt64
}
