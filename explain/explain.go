package explain

import (
	"context"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Findings are the causes of a verdict's violations.
type Findings struct {
	Answers []Answer
	Effects []history.Executed // what the nodes executed, as the causes were read from it
	// Granted returns when the servers granted an acquire or an extend; if no commands show that, when
	// its client was told. It is nil if there was no violation.
	Granted func(op *history.Operation) int64
}

// Verdict finds the causes of a verdict's violations.
func Verdict(ctx context.Context, v *checker.Verdict, rec Record, srv *fakeredis.Server) (Findings, error) {
	if len(v.Violations) == 0 || ctx.Err() != nil {
		return Findings{}, ctx.Err()
	}
	r := newRun(ctx, rec, srv, false)
	granted := v.Operations[history.Acquire.String()]
	r.nobody = granted[history.OK.String()] == 0 && granted[history.Unknown.String()] == 0
	other := r
	if rec.Effects == nil && srv != nil {
		other = newRun(ctx, rec, srv, true)
		other.nobody = r.nobody
	}
	answers := make([]Answer, len(v.Violations))
	for i := range v.Violations {
		a := &answers[i]
		*a = r.answer(&v.Violations[i])
		switch {
		case a.Cause == "" || a.Cause == verdicts.CauseUnknown:
			a.Cause = verdicts.CauseUnknown
			switch {
			case a.Says != nil:
			case len(r.sent) == 0: // but for those to the guarded store
				a.Says = sentence("the cause is not known: no commands were recorded")
			case len(r.nodes) == 0:
				a.Says = sentence("the cause is not known: no effects were recorded, and the commands' replies do not follow from their order")
			default:
				a.Says = sentence("the cause is not known: no row of the table of causes fits")
			}
		case other != r && other.answer(&v.Violations[i]).Cause != a.Cause:
			*a = Answer{Cause: verdicts.CauseUnknown, Says: sentence("the cause is not known: it depends on the order of commands, which their replies leave open")}
		}
		v.Violations[i].Cause = answers[i].Cause
	}
	v.CountCauses()
	return Findings{answers, r.Effects, r.grantedAt}, ctx.Err()
}

// answer explains one violation; the zero value: no row fits.
func (r *run) answer(v *checker.Violation) Answer {
	switch v.Property {
	case verdicts.MutualExclusion, verdicts.ExclusiveUse, verdicts.StoreIntegrity:
		return r.overlap(v)
	case verdicts.Linearizability:
		return r.noOrder(v)
	case verdicts.ReleaseSafety:
		return r.wrongfulEnd(v)
	case verdicts.FencingOrder:
		return r.fence(v)
	case verdicts.Progress, verdicts.Refusal:
		return r.stuck(v)
	case verdicts.Reentrancy, verdicts.Renewal:
		return r.ownHold(v, v.Clients[0])
	case verdicts.Fairness:
		return Answer{Cause: verdicts.Barging, Says: sentence("the lock let ", Name(v.Clients[len(v.Clients)-1]), " in before ", Name(v.Clients[0]), ", which had come earlier")}
	}
	return Answer{}
}

// noOrder explains replies that no order explains.
func (r *run) noOrder(v *checker.Violation) Answer {
	apart := func(a, b *hold) bool { // over, by what its client knew, before the other was granted
		over := r.told(a, b.granted)
		if a.release != nil {
			over = min(over, a.release.Call)
		}
		return over <= b.granted
	}
	if a := r.overlapOf(v, apart); a.Cause != "" {
		return a
	}
	for _, o := range v.Witness.All() {
		op := r.ops[o.ID]
		if op == nil || op.Outcome != history.NotHeld && op.Outcome != history.LostHold {
			continue
		}
		if h := r.holdOf(op); h != nil && r.told(h, op.Call) > op.Return {
			if a := r.taken(op); a.Cause != "" {
				return a
			}
		}
	}
	if a := r.fencesBack(v); a.Cause != "" {
		return a
	}
	if a := r.stuck(v); a.Cause != "" {
		return a
	}
	if a := r.hitsAnother(v); a.Cause != "" {
		return a
	}
	return r.overlap(v)
}
