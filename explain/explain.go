package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Answer is what an experiment showed.
type Answer struct {
	Causes     []history.Cause // one, or two that are equally near; none where there was no experiment
	Experiment string          // what was left out and what would have come of it, in plain words; "" without one
}

// Verdict finds the causes of a verdict's violations from the record that it was reached on, and ends their stories with the experiments. It
// returns at once where there is no violation. One server does for many verdicts, one after the other.
func Verdict(v *checker.Verdict, rec Record, srv Server) {
	if len(v.Violations) == 0 {
		return
	}
	if len(rec.Ops) == 0 {
		rec.Ops = shown(v)
	}
	r := newRun(rec, srv)
	for i := range v.Violations {
		x := &v.Violations[i]
		a, before := r.violation(x), x.Cause
		switch {
		case len(a.Causes) > 0:
			x.Cause = a.Causes[0]
		case x.Cause == "": // what the checker concluded without an experiment stays
			x.Cause = history.CauseUnknown
		}
		if n := len(x.Story); n > 0 && a.Experiment != "" {
			x.Story[0] = strings.Replace(x.Story[0], "("+string(before)+")", "("+string(x.Cause)+")", 1)
			x.Story[n-1] = a.Experiment
		}
	}
	v.CountCauses()
}

// shown are the operations that show some violations.
func shown(v *checker.Verdict) (ops []history.Operation) {
	seen := map[uint64]bool{}
	for i := range v.Violations {
		for _, op := range operationsOf(&v.Violations[i]) {
			if !seen[op.ID] {
				seen[op.ID] = true
				ops = append(ops, op)
			}
		}
	}
	return ops
}

// operationsOf are all operations that show a violation, by call.
func operationsOf(v *checker.Violation) []history.Operation { return v.Witness.All() }

// violation explains one violation.
func (r *run) violation(v *checker.Violation) Answer {
	r.base = v.Base
	if r.failed {
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
	for _, o := range operationsOf(v) {
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

// overlap explains holds that were there at once: the last of them and each before, and where that shows nothing the others.
func (r *run) overlap(v *checker.Violation, holds []*history.Operation, skip func(first, second *history.Operation) bool) (best Answer) {
	for j, second := range slices.Backward(holds) {
		for _, first := range slices.Backward(holds[:j]) {
			if first.Client == second.Client && r.Header.Kind != history.Mutex && r.Header.Kind != history.Semaphore ||
				first.Mode == history.Shared && second.Mode == history.Shared || skip(first, second) {
				continue
			}
			seen := int64(0)
			if v.Property == history.StoreIntegrity {
				seen = v.At + v.Lasted
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
