package checker

import (
	"maps"
	"slices"
)

// Sum adds up the verdicts of two histories of the same lock in the same setting, as if they had
// been one history of unrelated keys. It changes neither. The damage is that of a, or of b if a has
// none. Call [Verdict.Estimate] on the last sum.
func Sum(a, b *Verdict) *Verdict {
	out := *a
	out.Verdict = together(a.Verdict, b.Verdict)
	out.Properties = slices.Clone(a.Properties)
	for i := range out.Properties {
		if j := slices.IndexFunc(b.Properties, func(p Property) bool { return p.Name == out.Properties[i].Name }); j >= 0 {
			out.Properties[i] = sumProperty(out.Properties[i], b.Properties[j])
		}
	}
	out.Operations = Operations{}
	for _, ops := range []Operations{a.Operations, b.Operations} {
		for op, outcomes := range ops {
			for outcome, n := range outcomes {
				out.Operations.add(op, outcome, n)
			}
		}
	}
	out.NotSearched = a.NotSearched + b.NotSearched
	if a.Damage == nil || *a.Damage == (Damage{Expected: a.Damage.Expected, Final: a.Damage.Final}) {
		out.Damage = b.Damage
	}
	out.Notes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Notes, b.Notes))))
	out.Violations = slices.Concat(a.Violations, b.Violations)
	return &out
}

// together returns the result of two: a violation in either is a violation; an inconclusive one
// does not weaken a pass.
func together(a, b Result) Result {
	for _, r := range []Result{Fail, Pass, Inconclusive} {
		if a == r || b == r {
			return r
		}
	}
	return NotApplicable
}

func sumProperty(a, b Property) Property {
	out := a
	out.Verdict = together(a.Verdict, b.Verdict)
	if out.Verdict != a.Verdict {
		out.Note = b.Note
	}
	out.Violations += b.Violations
	out.Opportunities += b.Opportunities
	out.Judged += b.Judged
	out.NotJudged = maps.Clone(a.NotJudged)
	for why, n := range b.NotJudged {
		out.NotJudged = increased(out.NotJudged, why, n)
	}
	out.MetFault += b.MetFault
	out.Causes = maps.Clone(a.Causes)
	for cause, n := range b.Causes {
		out.Causes = increased(out.Causes, cause, n)
	}
	if out.First == nil {
		out.First = b.First
	}
	if out.Opportunities > 0 {
		out.Rate = float64(min(out.Violations, out.Opportunities)) / float64(out.Opportunities)
	}
	return out
}
