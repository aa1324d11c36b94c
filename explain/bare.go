package explain

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// bare explains a violation from the operations alone, for a record without commands. They can prove that a client continued after the end of its lease,
// or that a release was accepted after the end of its hold.
func (r *run) bare(v *checker.Violation) Answer {
	holds := r.holding(v)
	switch v.Property {
	case verdicts.ReleaseSafety:
		holds = r.beside(v)
	case verdicts.Progress, verdicts.Refusal:
		if r.nobody {
			return neverGranted()
		}
	}
	for j := range holds {
		for _, first := range holds[:j] {
			second := holds[j]
			if first.Client == second.Client {
				continue
			}
			if late := r.lateRelease(first, second); late != nil {
				return because(verdicts.MisUnlock, sentence("the operations alone prove it: ", Name(late.Client), "'s release at ", Instant(late.Call),
					" was accepted although its hold had ended before ", Name(first.Client), " was granted"))
			}
			if until := r.until(first, second.Return); until <= second.Return && overrun(v.Property) {
				return because(verdicts.LeaseOverrun, sentence("the operations alone prove it: the lock told ", Name(first.Client), " that it holds until ", Instant(until),
					", and ", Name(first.Client), " continued after that"))
			}
		}
	}
	return Answer{}
}

// overrun reports whether a property is about what clients did under their grants, not about the grants.
func overrun(p verdicts.Property) bool {
	return p == verdicts.ExclusiveUse || p == verdicts.StoreIntegrity
}

// lateRelease returns a release that was accepted between two grants although its client's hold had ended before the first; nil: none. If the server
// applied it to the first hold, that explains both the release and the second grant; otherwise the lock would have two defects.
func (r *run) lateRelease(first, second *history.Operation) *history.Operation {
	if first.Mode == history.Shared {
		return nil
	}
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Op != history.Release || op.Outcome != history.OK || op.Key != first.Key || op.Client == first.Client ||
			op.Call < first.Return || op.Call > second.Return {
			continue
		}
		own := r.held(op.Client, op.Key, op.Call)
		if own != nil && r.releaseOf(own) == op && r.until(own, op.Call) <= first.Return {
			return op
		}
	}
	return nil
}
