package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Verdict is the judgement of a history.
type Verdict struct {
	Verdict     Result      `json:"verdict"`
	Properties  []Property  `json:"properties"` // in a fixed order
	Operations  Operations  `json:"operations"` // by operation, by outcome
	NotSearched int         `json:"not_searched"`
	Damage      *Damage     `json:"damage,omitempty"`
	Notes       []string    `json:"notes,omitempty"` // warnings that must be shown
	Violations  []Violation `json:"-"`               // all of them up to Options.MaxViolations, by time
}

// Doubt notes why the history shows less than it seems to, once for each reason, and makes a pass
// inconclusive.
func (v *Verdict) Doubt(why string) {
	if !slices.Contains(v.Notes, why) {
		v.Notes = append(v.Notes, why)
	}
	if v.Verdict == Pass {
		v.Verdict = Inconclusive
	}
}

// Operations counts operations by name and outcome.
type Operations map[string]map[string]int

// Property is the judgement of one property.
type Property struct {
	Name       verdicts.Property `json:"name"`
	Verdict    Result            `json:"verdict"`
	Violations int               `json:"violations"`
	// grants, uses, writes, …: what could have gone wrong and was judged
	Opportunities int `json:"opportunities"`
	Judged        int `json:"judged"` // the same number
	// what could have gone wrong but was not judged, by reason
	NotJudged map[string]int `json:"not_judged,omitempty"`
	MetFault  int            `json:"met_fault"` // of these, how many met a fault window
	Rate      float64        `json:"rate"`
	// Clopper–Pearson; with no violation the upper bound is about 3/n
	CI95   [2]float64             `json:"ci95"`
	Causes map[verdicts.Cause]int `json:"causes,omitempty"`
	First  *Violation             `json:"first,omitempty"`
	Note   string                 `json:"note,omitempty"` // why n/a or inconclusive
}

// Estimate sets the confidence interval of each property's rate.
func (v *Verdict) Estimate() {
	for i := range v.Properties {
		p := &v.Properties[i]
		p.CI95 = rateInterval(p.Violations, p.Opportunities)
	}
}

// CountCauses counts the causes of the kept violations again and sets each property's first
// violation. Call it after setting causes.
func (v *Verdict) CountCauses() {
	for i := range v.Properties {
		p := &v.Properties[i]
		p.Causes, p.First = nil, nil
		for j := range v.Violations {
			found := &v.Violations[j]
			if found.Property != p.Name || found.WithinClockError {
				continue
			}
			if p.First == nil || found.At < p.First.At {
				first := *found
				p.First = &first
			}
			p.Causes = increased(p.Causes, found.Cause, 1)
		}
	}
}

// notRecorded is why hygiene is never judged here.
const notRecorded = "a history does not show what is left behind: lockbench explore looks for goroutines, the conformance kit for keys and connections"

// verdict assembles the verdict.
func (a *archive) verdict(tallies []tally, ev *evidence, opt Options) *Verdict {
	v := &Verdict{Operations: a.operations()}
	tallies = append(tallies, tally{property: verdicts.Hygiene, note: notRecorded})
	for _, name := range verdicts.Properties() {
		i := slices.IndexFunc(tallies, func(t tally) bool { return t.property == name })
		if i < 0 { // no key
			v.Properties = append(v.Properties, Property{Name: name, Verdict: NotApplicable, Note: "the history is empty"})
			continue
		}
		t := &tallies[i]
		v.Properties = append(v.Properties, t.judgement(a.header))
		v.Violations = append(v.Violations, t.kept...)
		v.NotSearched += t.skipped
		v.Damage = cmp.Or(v.Damage, t.damage)
		if t.within > 0 && t.broken > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%s: %d more within the clock error of %d ns, not counted", name, t.within, a.header.ClockError))
		}
	}
	slices.SortStableFunc(v.Violations, byTime)
	for i := range v.Violations {
		a.show(&v.Violations[i], ev, opt.Bare)
	}
	if !opt.Bare {
		v.Estimate()
	}
	v.CountCauses()
	// One failure fails; a property without a decision leaves the whole undecided, and so does a record
	// in which nothing was judged.
	has := func(r Result) bool {
		return slices.ContainsFunc(v.Properties, func(p Property) bool { return p.Verdict == r })
	}
	v.Verdict = Pass
	if has(Fail) {
		v.Verdict = Fail
	} else if has(Inconclusive) || !has(Pass) {
		v.Verdict = Inconclusive
	}
	switch {
	case a.lines == 0:
		v.Notes = append(v.Notes, "the history is empty")
	case !slices.ContainsFunc(v.Properties, func(p Property) bool { return p.Judged > 0 }):
		v.Notes = append(v.Notes, "nothing was judged")
	}
	return v
}

// judgement returns the judgement of a property.
func (t *tally) judgement(h history.Header) Property {
	p := Property{Name: t.property, Violations: t.broken, Opportunities: t.judged, Judged: t.judged, NotJudged: t.notJudged, MetFault: t.met, Note: t.note}
	if t.windows > 0 {
		p.Note = fmt.Sprintf("windows searched: %d of %d", t.judged, t.windows)
	}
	switch {
	case !t.applies:
		p.Verdict = NotApplicable
		return p
	case t.broken > 0:
		p.Verdict, p.Note = Fail, ""
	case t.within > 0:
		p.Verdict, p.Note = Inconclusive, fmt.Sprintf("%d within the clock error of %d ns, none beyond it", t.within, h.ClockError)
	case t.judged == 0 && len(t.notJudged) > 0:
		p.Verdict, p.Note = Inconclusive, "nothing was judged: "+NotJudgedText(t.notJudged)
	case t.property == verdicts.MutualExclusion && t.judged == 0:
		p.Verdict, p.Note = Inconclusive, "nobody met: no grant came after another that it would conflict with"
	case t.judged == 0:
		p.Verdict = NotApplicable
	default:
		p.Verdict = Pass
	}
	if p.Judged > 0 {
		p.Rate = float64(p.Violations) / float64(p.Judged)
	}
	return p
}

// NotJudgedText lists the reasons why opportunities were not judged, the most frequent first: "12
// met a fault, 1 not searched".
func NotJudgedText(reasons map[string]int) string {
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", reasons[name], name)
	}
	return strings.Join(names, ", ")
}

// operations counts operations by name and outcome. Operations without an outcome count as "done".
func (a *archive) operations() Operations {
	out := Operations{}
	for _, k := range a.keys {
		for op := history.Acquire; op <= history.Lost; op++ {
			for outcome := history.None; outcome <= history.Unknown; outcome++ {
				if n := k.counts[op][outcome]; n > 0 {
					out.add(op.String(), cmp.Or(outcome.String(), "done"), n)
				}
			}
		}
	}
	return out
}

func (o Operations) add(op, outcome string, n int) {
	if o[op] == nil {
		o[op] = map[string]int{}
	}
	o[op][outcome] += n
}
