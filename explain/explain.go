package explain

import (
	"context"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Findings are the causes of a verdict's violations. The zero value belongs to a verdict without violations.
type Findings struct {
	Answers []Answer // one for each violation
	run     *run
}

// Granted returns when the servers granted an acquire or an extend; if no commands show that, when its client was told.
func (f Findings) Granted(op *history.Operation) int64 {
	if f.run == nil {
		return op.Return
	}
	return f.run.grantedAt(op)
}

// Verdict finds the causes of a verdict's violations in the record that was checked. It returns at once if there are no violations. A server may be used
// for many verdicts, one after the other. The error is the context's.
func Verdict(ctx context.Context, v *checker.Verdict, rec Record, srv Server) (Findings, error) {
	if len(v.Violations) == 0 || ctx.Err() != nil {
		return Findings{}, ctx.Err()
	}
	if len(rec.Ops) == 0 {
		rec.Ops = shown(v)
	}
	r := newRun(rec, srv, func() bool { return ctx.Err() != nil })
	granted := v.Operations[history.Acquire.String()]
	r.nobody = granted[history.OK.String()] == 0 && granted[history.Unknown.String()] == 0
	answers := make([]Answer, len(v.Violations))
	for i := range v.Violations {
		if v.Violations[i].Property != verdicts.Linearizability {
			answers[i] = r.answer(&v.Violations[i])
		}
	}
	for i := range v.Violations { // a missing linearization has the cause of the violation that shows it
		x := &v.Violations[i]
		if x.Property == verdicts.Linearizability {
			if j := shownAs(v, x); j >= 0 {
				answers[i] = answers[j]
			} else {
				answers[i] = r.answer(x)
			}
		}
		x.Cause = answers[i].Cause
	}
	v.CountCauses()
	return Findings{answers, r}, ctx.Err()
}

// shownAs returns the index of the violation of another property by which the checker shows one of linearizability; -1: none.
func shownAs(v *checker.Verdict, x *checker.Violation) int {
	return slices.IndexFunc(v.Violations, func(o checker.Violation) bool {
		return o.Property != verdicts.Linearizability && o.Key == x.Key && o.At == x.At && slices.Equal(o.Clients, x.Clients)
	})
}

// answer explains one violation; its cause may be unknown.
func (r *run) answer(v *checker.Violation) Answer {
	if a := r.violation(v); a.Cause != "" {
		return a
	}
	why := sentence("no experiment on the recorded commands determines it")
	if r.failed {
		why = sentence("no commands were recorded, and the operations alone do not prove one")
	} else if w := r.waiter(v); w != nil {
		if in := w.inVain(); in != nil {
			why = in
		}
	}
	return because(verdicts.CauseUnknown, sentence("the cause is not known: ", why))
}

// shown returns the operations that show the violations of a verdict, and those around them.
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

// violation explains one violation: by an experiment or, if no server of the lock got a command, by the operations.
func (r *run) violation(v *checker.Violation) Answer {
	a := r.experiment(v) // that no command was sent explains a grant
	if a.Cause == "" && len(r.nodes) == 0 {
		a = r.bare(v)
	}
	return a
}

// experiment explains a violation by what the commands show.
func (r *run) experiment(v *checker.Violation) Answer {
	if r.failed {
		return Answer{}
	}
	switch v.Property {
	case verdicts.MutualExclusion, verdicts.ExclusiveUse:
		return r.overlap(v, r.holding(v), never)
	case verdicts.StoreIntegrity:
		return r.damage(v)
	case verdicts.ReleaseSafety:
		return r.wrongfulEnd(v)
	case verdicts.FencingOrder:
		return r.fence(v)
	case verdicts.Progress, verdicts.Refusal:
		return r.stuck(v)
	case verdicts.Linearizability:
		return r.noOrder(v)
	case verdicts.Fairness:
		return r.overtaken(v)
	case verdicts.Reentrancy, verdicts.Renewal:
		return r.ownHold(v, v.Clients[0], math.MaxInt64)
	}
	return Answer{}
}

// overlap explains overlapping holds: the last hold with each before it, and if that shows nothing, the others.
func (r *run) overlap(v *checker.Violation, holds []*history.Operation, skip func(first, second *history.Operation) bool) (best Answer) {
	seen := v.At
	if v.Property == verdicts.StoreIntegrity {
		seen += v.Lasted
	}
	for j, second := range slices.Backward(holds) {
		for _, first := range r.nearest(holds[:j], seen) {
			if first.Client == second.Client && r.Header.Kind == history.Reentrant ||
				first.Mode == history.Shared && second.Mode == history.Shared || skip(first, second) {
				continue
			}
			a := r.met(first, second, seen)
			if a.Cause != "" && a.Cause != verdicts.DoubleGrant {
				return a
			}
			if best.Cause == "" {
				best = a
			}
		}
		if best.Cause != "" && r.Header.Kind == history.Semaphore { // nothing had been taken from any of them, and all permits were taken
			return best
		}
	}
	return best
}

func never(_, _ *history.Operation) bool { return false }

// damage explains a violation of the guarded store by the overlap of the holds under which it was written: those that show it, or others between them. A
// hold that was released, or whose client had finished its work, before the next grant does not overlap it.
func (r *run) damage(v *checker.Violation) Answer {
	holds := r.shownBy(v)
	met := slices.IndexFunc(holds, func(op *history.Operation) bool { return op.Return > v.At+v.Lasted })
	if met >= 0 { // later holds did not damage that; but if only one hold is left, the other may have come just after
		holds = holds[:max(met, min(2, len(holds)))]
	}
	if len(holds) == 0 {
		return Answer{}
	}
	return firstOf(
		func() Answer { return r.overlap(v, holds, r.apart) },
		func() Answer { return r.overlap(v, r.between(holds, v), r.apart) },
		func() Answer { return r.heldAgain(holds) })
}

// heldAgain explains writes under two holds of one client when the older had ended: by what ended it before the newer was granted, or before the client
// released.
func (r *run) heldAgain(holds []*history.Operation) Answer {
	for j, second := range slices.Backward(holds) {
		first := slices.IndexFunc(holds[:j], func(o *history.Operation) bool { return o.Client == second.Client })
		if first < 0 {
			continue
		}
		if !r.sent(second) {
			return r.noCommand(second)
		}
		for _, op := range []*history.Operation{second, r.releaseOf(second), r.releaseOf(holds[first])} {
			if op == nil {
				continue
			}
			if a := r.taken(op); a.Cause != "" {
				return a
			}
		}
	}
	return Answer{}
}

// apart reports whether a hold was released, or its client had finished its work, before another was granted. A client that released an inner hold
// continues under the outer one.
func (r *run) apart(first, second *history.Operation) bool {
	granted := r.grantedAt(second)
	over := func(acquire *history.Operation) bool {
		return min(r.releasedAt(acquire), r.workedUntil(acquire)) <= granted
	}
	return over(first) && !(r.Header.Kind == history.Reentrant && slices.ContainsFunc(r.outer(first), func(o *history.Operation) bool { return !over(o) }))
}

// noOrder explains a key whose operations have no linearization. Holds of which one was over when the other was granted are the last to be looked at.
func (r *run) noOrder(v *checker.Violation) Answer {
	lawful := func(_, second *history.Operation) bool { return r.hadPermit(second) }
	return firstOf(
		func() Answer {
			return r.overlap(v, r.holding(v), func(first, second *history.Operation) bool { return r.apart(first, second) || lawful(first, second) })
		},
		func() Answer { return r.wasGone(v) },
		func() Answer { return r.fences(v) },
		func() Answer { return r.overlap(v, r.holding(v), lawful) },
		func() Answer { return r.stuck(v) },
		func() Answer { return r.hitsAnother(v) })
}

// hadPermit reports whether fewer than all permits were held when an acquire was granted, as far as the clients of the others knew: the grant is lawful then.
func (r *run) hadPermit(acquire *history.Operation) bool {
	if r.Header.Kind != history.Semaphore {
		return false
	}
	at, held := r.grantedAt(acquire), 0
	for i := range r.holds {
		o := &r.holds[i].Acquire
		if o.Key == acquire.Key && o.ID != acquire.ID && r.grantedAt(o) <= acquire.Return && min(r.releasedAt(o), r.until(o, acquire.Return)) > at {
			held++
		}
	}
	return held < checker.Permits(r.Header)
}

// wasGone explains answers that a hold was gone before its lease can have ended: by what had ended it.
func (r *run) wasGone(v *checker.Violation) Answer {
	for _, o := range v.Witness.All() {
		if op := r.ops[o.ID]; op != nil && (op.Outcome == history.NotHeld || op.Outcome == history.LostHold) && !r.dueBy(op) {
			if a := r.taken(op); a.Cause != "" {
				return a
			}
		}
	}
	return Answer{}
}

// dueBy reports whether the lease of an operation's hold can have ended before the operation did.
func (r *run) dueBy(op *history.Operation) bool {
	h := r.holdOf[op.ID]
	return h != nil && r.kept(&h.Acquire, op.Call) <= op.Return
}
