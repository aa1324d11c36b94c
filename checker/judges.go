package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// order is the order of the properties in a verdict.
var order = [...]verdicts.Property{
	verdicts.MutualExclusion, verdicts.ExclusiveUse, verdicts.StoreIntegrity, verdicts.ReleaseSafety, verdicts.Linearizability,
	verdicts.FencingOrder, verdicts.Progress, verdicts.Refusal, verdicts.Reentrancy, verdicts.Renewal, verdicts.Fairness,
	verdicts.Hygiene,
}

// finding is the result for one key.
type finding struct {
	tallies []tally
	damage  *Damage // nil: no value of the store is known
	err     error
}

// judgeAll judges every key, concurrently on all processors.
func (a *archive) judgeAll(ctx context.Context, ev *evidence, opt Options) ([]tally, *Damage, error) {
	findings := make([]finding, len(a.keys))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(a.keys)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(a.keys)); i = next.Add(1) - 1 {
				findings[i] = a.judgeKey(ctx, a.keys[i], ev, opt)
			}
		})
	}
	workers.Wait()
	return join(findings, opt)
}

func (a *archive) judgeKey(ctx context.Context, k *keyLog, ev *evidence, opt Options) (f finding) {
	if f.err = ctx.Err(); f.err != nil {
		return f
	}
	if f.err = a.findHolds(k, ev); f.err != nil {
		return f
	}
	d := &keyInput{a: a, k: k, ev: ev, opt: opt}
	store, refused := newStoreIntegrity(d), newRefusal(d)
	judges := []judge{
		newMutualExclusion(d), newExclusiveUse(d), store, newReleaseSafety(d), newFencingOrder(d),
		newProgress(d), refused, newReentrancy(d), newRenewal(d), newFairness(d), newLinearizability(d, refused),
	}
	d.try(judges)
	d.decide(judges)
	f.tallies = make([]tally, 0, len(judges)+1) // plus that of hygiene
	for _, j := range judges {
		f.tallies = append(f.tallies, *j.result())
	}
	if damage := store.damage; store.chain.ways[0].started { // a copy: the verdict must not keep the record in memory
		f.damage = &damage
	}
	return f
}

// join adds up the findings of all keys.
func join(findings []finding, opt Options) ([]tally, *Damage, error) {
	var total []tally
	var damage *Damage
	for _, f := range findings {
		if f.err != nil {
			return nil, nil, f.err
		}
		if total == nil {
			total = make([]tally, len(f.tallies))
		}
		for i := range f.tallies {
			total[i].join(&f.tallies[i], opt.MaxViolations)
		}
		switch {
		case damage == nil:
			damage = f.damage
		case f.damage != nil:
			damage.add(*f.damage)
		}
	}
	return total, damage, nil
}

func (t *tally) join(other *tally, most int) {
	t.property = other.property
	if other.applies && !t.applies || other.applies == t.applies && t.note == "" { // why it does not apply to another key matters to none
		t.note = other.note
	}
	t.applies = t.applies || other.applies
	t.opportunities += other.opportunities
	t.met += other.met
	t.violations += other.violations
	t.within += other.within
	t.skipped += other.skipped
	t.undecided += other.undecided
	t.windowed += other.windowed
	for why, n := range other.notJudged {
		t.notJudged = increased(t.notJudged, why, n)
	}
	t.kept = append(t.kept, other.kept...)
	slices.SortStableFunc(t.kept, func(x, y Violation) int { return cmp.Compare(x.At, y.At) })
	t.kept = t.kept[:min(len(t.kept), most)]
}

func (d *Damage) add(other Damage) {
	d.LostUpdates += other.LostUpdates
	d.StaleWrites += other.StaleWrites
	d.Expected += other.Expected
	d.Final += other.Final
	d.Missing += other.Missing
}

// notRecorded is why hygiene is never judged here.
const notRecorded = "a history does not show what is left behind: lockbench explore looks for goroutines, the conformance kit for keys and connections"

// verdict assembles the verdict.
func (a *archive) verdict(tallies []tally, damage *Damage, ev *evidence, opt Options) *Verdict {
	v := &Verdict{Operations: a.operations(), Damage: damage}
	tallies = append(tallies, tally{property: verdicts.Hygiene, note: notRecorded})
	v.Properties = make([]Property, 0, len(tallies))
	for _, name := range order {
		i := slices.IndexFunc(tallies, func(t tally) bool { return t.property == name })
		if i < 0 { // no key
			v.Properties = append(v.Properties, Property{Name: name, Verdict: NotApplicable, Note: "the history is empty"})
			continue
		}
		v.Properties = append(v.Properties, tallies[i].judged(ev, opt))
		v.Violations = append(v.Violations, tallies[i].kept...)
		v.NotSearched += tallies[i].skipped
		if n := tallies[i].within; n > 0 && tallies[i].violations > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%s: %d more within the clock error of %d ns, not counted", name, n, a.header.ClockError))
		}
	}
	slices.SortStableFunc(v.Violations, func(x, y Violation) int { return cmp.Compare(x.At, y.At) })
	for i := range v.Violations {
		if x := &v.Violations[i]; !opt.Bare {
			x.Around = a.surroundings(x, ev)
		}
	}
	v.CountCauses()
	if !opt.Bare {
		v.Estimate()
	}
	v.Verdict = overall(v.Properties)
	switch {
	case a.lines == 0:
		v.Notes = append(v.Notes, "the history is empty")
	case !slices.ContainsFunc(v.Properties, func(p Property) bool { return p.Judged > 0 }):
		v.Notes = append(v.Notes, "nothing was judged")
	}
	return v
}

// overall: one failure fails; a property without a decision leaves the whole undecided, and so does a record in which nothing was judged.
func overall(properties []Property) Result {
	result := Inconclusive
	for _, p := range properties {
		switch p.Verdict {
		case Fail:
			return Fail
		case Pass:
			result = Pass
		}
	}
	if slices.ContainsFunc(properties, func(p Property) bool { return p.Verdict == Inconclusive }) {
		return Inconclusive
	}
	return result
}

// judged returns the judgement of a property.
func (t *tally) judged(ev *evidence, opt Options) Property {
	n := max(t.opportunities, t.violations)
	p := Property{Name: t.property, Violations: t.violations, Opportunities: n, Judged: n, NotJudged: t.notJudged, MetFault: t.met, Note: t.note}
	if t.windowed > 0 {
		p.Note = t.searched()
	}
	switch {
	case !t.applies:
		p.Verdict = NotApplicable
		return p
	case t.violations > 0:
		p.Verdict, p.Note = Fail, ""
	case t.within > 0:
		p.Verdict, p.Note = Inconclusive, fmt.Sprintf("%d within the clock error of %d ns, none beyond it", t.within, ev.header.ClockError)
	case t.undecided > 0:
		p.Verdict = Inconclusive
	case n == 0 && len(t.notJudged) > 0:
		p.Verdict, p.Note = Inconclusive, "nothing was judged: "+NotJudgedText(t.notJudged)
	case t.property == verdicts.MutualExclusion && n == 0:
		p.Verdict, p.Note = Inconclusive, "nobody met: no grant came after another that it would conflict with"
	case t.windowed > 0 && n == 0:
		p.Verdict = Inconclusive
	case n == 0:
		p.Verdict = NotApplicable
	default:
		p.Verdict = Pass
	}
	if p.Opportunities > 0 {
		p.Rate = float64(p.Violations) / float64(p.Opportunities)
	}
	return p
}

// NotJudgedText lists the reasons why opportunities were not judged, the most frequent first: "12 met a fault, 1 not searched".
func NotJudgedText(reasons map[string]int) string {
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", reasons[name], name)
	}
	return strings.Join(names, ", ")
}

// searched describes what a search has covered and what it leaves open. A window that was not searched lacks a second opinion; if it has refusals
// that the sweep does not decide, or is a key of few operations, the property stays inconclusive.
func (t *tally) searched() string {
	note := fmt.Sprintf("%d of %d windows searched", t.opportunities, t.windowed)
	switch {
	case t.undecided > 0 && t.opportunities >= t.windowed:
		note = "a search of all operations together was given up"
	case t.undecided > 0:
		note += fmt.Sprintf("; %d of the others have what nothing else decides", t.undecided)
	}
	return note
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
