package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Verdict finds the causes of a verdict's violations from the record that it was reached on, and returns the answers, one for each violation. It
// returns at once where there is no violation. One server does for many verdicts, one after the other.
func Verdict(v *checker.Verdict, rec Record, srv Server) []Answer {
	if len(v.Violations) == 0 {
		return nil
	}
	if len(rec.Ops) == 0 {
		rec.Ops = shown(v)
	}
	r := newRun(rec, srv)
	granted := v.Operations[history.Acquire.String()]
	r.nobody = granted[history.OK.String()] == 0 && granted[history.Unknown.String()] == 0
	answers := make([]Answer, len(v.Violations))
	for i := range v.Violations {
		answers[i] = r.answer(&v.Violations[i])
		v.Violations[i].Cause = answers[i].Causes[0]
	}
	v.CountCauses()
	return answers
}

// answer explains one violation, and says so where it cannot.
func (r *run) answer(v *checker.Violation) Answer {
	a := r.violation(v)
	switch {
	case len(a.Causes) > 0:
		return a
	case r.failed:
		return because(history.CauseUnknown, sentence("the cause is not known: no commands were recorded, and the operations alone do not prove one"))
	}
	return because(history.CauseUnknown, sentence("the cause is not known: no experiment on the recorded commands tells"))
}

// shown are the operations that show some violations, and those around them.
func shown(v *checker.Verdict) (ops []history.Operation) {
	seen := map[uint64]bool{}
	add := func(more []history.Operation) {
		for _, op := range more {
			if !seen[op.ID] {
				seen[op.ID] = true
				ops = append(ops, op)
			}
		}
	}
	for i := range v.Violations {
		add(v.Violations[i].Witness.All())
		if around := v.Violations[i].Around; around != nil {
			add(around.Operations)
		}
	}
	return ops
}

// violation explains one violation.
func (r *run) violation(v *checker.Violation) Answer {
	switch {
	case r.failed && v.Property == history.ReleaseSafety:
		return r.bare(v, r.beside(v))
	case r.failed && r.nobody && (v.Property == history.Progress || v.Property == history.Refusal):
		return because(history.NeverGranted, sentence("the operations alone prove it: no acquire of the whole run was granted"))
	case r.failed:
		return r.bare(v, r.holding(v))
	}
	switch v.Property {
	case history.MutualExclusion, history.ExclusiveUse:
		return r.overlap(v, r.holding(v), never)
	case history.StoreIntegrity:
		return r.damage(v)
	case history.ReleaseSafety:
		return r.wrongfulEnd(v)
	case history.FencingOrder:
		return r.fence(v)
	case history.Progress, history.Refusal, history.Hygiene:
		return r.stuck(v)
	case history.Linearizability:
		return r.noOrder(v)
	case history.Reentrancy, history.Renewal:
		return r.ownHold(v)
	}
	return Answer{}
}

// holds are the acquires by which a violation's clients held, by call.
func (r *run) holds(v *checker.Violation) (out []*history.Operation) {
	add := func(op *history.Operation) {
		if op != nil && !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	for i := range v.Witness.Holds {
		add(r.ops[v.Witness.Holds[i].Acquire.ID])
	}
	for _, o := range v.Witness.All() {
		switch op := &o; {
		case op.Op == history.Acquire && op.Outcome == history.OK:
			add(r.ops[op.ID])
		case op.Op == history.Use || op.Op == history.Write:
			add(r.held(op.Client, op.Key, op.Call))
		}
	}
	slices.SortStableFunc(out, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
	return out
}

// holding are those of a violation's holds that were there at its instant.
func (r *run) holding(v *checker.Violation) []*history.Operation {
	all := r.holds(v)
	out := slices.DeleteFunc(slices.Clone(all), func(op *history.Operation) bool {
		release := r.releaseOf(op)
		return op.Return > v.At || release != nil && release.Return < v.At
	})
	if len(out) < 2 {
		return all
	}
	return out
}

// beside are the wronged hold of a violation of release-safety and those that were granted while its client believed in it.
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

// held is the acquire by which a client held last at an instant; nil: none.
func (r *run) held(client, key string, at int64) (last *history.Operation) {
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Client == client && op.Key == key && op.Op == history.Acquire && op.Outcome == history.OK && op.Return <= at &&
			(last == nil || op.Return >= last.Return) {
			last = op
		}
	}
	return last
}

// heldBefore is the acquire of the innermost hold that a client had when it called an operation; nil: none.
func (r *run) heldBefore(op *history.Operation) *history.Operation {
	var open []*history.Operation
	for i := range r.Ops {
		switch o := &r.Ops[i]; {
		case o.ID == op.ID || o.Client != op.Client || o.Key != op.Key || o.Return > op.Call:
		case o.Op == history.Acquire && o.Outcome == history.OK:
			open = append(open, o)
		case o.Op == history.Release && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}

// overlap explains holds that were there at once: the last of them and each before, and where that shows nothing the others.
func (r *run) overlap(v *checker.Violation, holds []*history.Operation, skip func(first, second *history.Operation) bool) (best Answer) {
	seen := v.At
	if v.Property == history.StoreIntegrity {
		seen += v.Lasted
	}
	for j, second := range slices.Backward(holds) {
		for _, first := range r.nearest(holds[:j], seen) {
			if first.Client == second.Client && r.Header.Kind != history.Mutex && r.Header.Kind != history.Semaphore ||
				first.Mode == history.Shared && second.Mode == history.Shared || skip(first, second) {
				continue
			}
			a := r.met(first, second, seen)
			if len(a.Causes) > 0 && a.Causes[0] != history.DoubleGrant {
				return a
			}
			if best.Causes == nil {
				best = a
			}
		}
	}
	return best
}

// nearest returns holds in the order in which they are asked how they could meet a later one: the last first; of permits, that which had ended first
// by what its client had been told, for the others may rightly have been there.
func (r *run) nearest(holds []*history.Operation, seen int64) []*history.Operation {
	holds = slices.Clone(holds)
	slices.Reverse(holds)
	if r.Header.Kind == history.Semaphore {
		slices.SortStableFunc(holds, func(a, b *history.Operation) int { return cmp.Compare(r.until(a, seen), r.until(b, seen)) })
	}
	return holds
}

func never(_, _ *history.Operation) bool { return false }

// damage explains what the guarded store lost by the holds under which it was written.
// A hold that was given back before the next was granted did not meet it.
func (r *run) damage(v *checker.Violation) Answer {
	holds := r.holds(v)
	met := slices.IndexFunc(holds, func(op *history.Operation) bool { return op.Return > v.At+v.Lasted })
	if met >= 0 { // what came later did no damage then; but the other of the two may have come just after
		holds = holds[:max(met, min(2, len(holds)))]
	}
	if len(holds) > 0 {
		holds = r.between(holds, v)
	}
	return r.overlap(v, holds, func(first, second *history.Operation) bool { return r.releasedAt(first) < r.grantedAt(second) })
}

// between adds to some holds those that anybody was granted from the first of them on until damage was seen.
func (r *run) between(holds []*history.Operation, v *checker.Violation) []*history.Operation {
	const most = 16
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Key == v.Key && op.Op == history.Acquire && op.Outcome == history.OK && op.Return >= holds[0].Return && op.Return <= v.At &&
			!slices.Contains(holds, op) && len(holds) < most {
			holds = append(holds, op)
		}
	}
	slices.SortStableFunc(holds, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
	return holds
}

// grantedAt is when an acquire was granted, as far as that is known.
func (r *run) grantedAt(op *history.Operation) int64 {
	for _, a := range r.attempts(op) {
		if a.grant >= 0 {
			return a.time()
		}
	}
	return op.Return
}

// releasedAt is when the release of a hold took effect; the end of time when none did.
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

// releaseOf is the first release that a client called after an acquire returned, and before it acquired again.
func (r *run) releaseOf(acquire *history.Operation) (first *history.Operation) {
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Client != acquire.Client || op.Key != acquire.Key || op.Call < acquire.Return || op.ID == acquire.ID || first != nil && op.Call >= first.Call {
			continue
		}
		if op.Op == history.Release || op.Op == history.Acquire && r.Header.Kind != history.Reentrant {
			first = op
		}
	}
	if first == nil || first.Op != history.Release {
		return nil
	}
	return first
}

// noOrder explains that the operations have no order.
func (r *run) noOrder(v *checker.Violation) Answer {
	if a := r.overlap(v, r.holding(v), never); a.Causes != nil {
		return a
	}
	return r.stuck(v)
}
