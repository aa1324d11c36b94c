package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// overlap explains a violation by the holds that show it: the last to be granted with each before
// it, and so on.
func (r *run) overlap(v *checker.Violation) Answer {
	given := func(a, b *hold) bool { // up, before the other was granted
		return a.release != nil && a.release.Outcome == history.OK && a.release.Return <= b.granted && (a.outer == nil || r.Header.Kind != history.Reentrant)
	}
	if a := r.overlapOf(v, given); a.Cause != "" {
		return a
	}
	return r.overlapOf(v, func(_, _ *hold) bool { return false })
}

func (r *run) overlapOf(v *checker.Violation, skip func(a, b *hold) bool) (best Answer) {
	holds := r.shown(v)
	for j := len(holds) - 1; j > 0; j-- {
		for i := j - 1; i >= 0; i-- {
			a, b := holds[i], holds[j]
			if !checker.Conflict(r.Header.Kind, a.op.Client == b.op.Client, a.op.Mode, b.op.Mode) || skip(a, b) {
				continue
			}
			// a re-entry is granted by its own mark
			for r.Header.Kind == history.Reentrant && b.outer != nil && b.outer.granted > a.granted {
				b = b.outer
			}
			p := r.pair(a, b.op, v.At)
			if checker.Permits(r.Header) > 1 {
				p.beside = slices.DeleteFunc(slices.Clone(holds[:j]), func(h *hold) bool { return h == a })
			}
			answer := p.answer()
			if answer.Cause != "" && answer.Cause != verdicts.DoubleGrant {
				return answer
			}
			if best.Cause == "" {
				best = answer
			}
		}
	}
	return best
}

// shown returns the holds that show a violation, by grant.
func (r *run) shown(v *checker.Violation) (out []*hold) {
	add := func(h *hold) {
		if h != nil && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	for i := range v.Witness.Holds {
		if op := r.ops[v.Witness.Holds[i].Acquire.ID]; op != nil {
			add(r.holdOf(op))
		}
	}
	for _, op := range v.Witness.Operations {
		switch op.Op {
		case history.Use, history.Write:
			add(r.heldAt(op.Client, op.Key, op.Call))
		default:
			if op := r.ops[op.ID]; op != nil {
				add(r.holdOf(op))
			}
		}
	}
	place := func(h *hold) int { // two may be granted at one instant
		if try := r.try(h.op, math.MaxInt64); len(try) > 0 {
			return try[len(try)-1].pos
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.granted, b.granted), cmp.Compare(place(a), place(b)))
	})
	return out
}
