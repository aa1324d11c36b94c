package results

import (
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/verdicts"
)

// Ending is what became of a lock in a scenario, in the words of the README: what somebody who
// chooses a lock asks about, and not whether it was expected.
type Ending string

// The endings.
const (
	Stuck    Ending = "stuck"
	Two      Ending = "two"
	Late     Ending = "late"
	LateSafe Ending = "late, safe"
	Broke    Ending = "broken" // none of the above: a release, a refusal, an order that was promised
	Holds    Ending = "holds"
	NotRun   Ending = "–"
	Unclear  Ending = "?"
)

// Endings returns all, the worst first.
func Endings() []Ending { return []Ending{Stuck, Two, Late, Broke, LateSafe, Holds, NotRun, Unclear} }

// About explains an ending in a clause.
func (e Ending) About() string {
	return map[Ending]string{
		Stuck:    "clients waited for a lock that nobody could hold",
		Two:      "the lock told two clients at once that they hold it",
		Late:     "a client worked on after its lease had ended, beside the next holder: its data is at risk",
		LateSafe: "a client worked on after its lease had ended, and the store refused its late write by the fence",
		Broke:    "another promise broke: a release, a refusal, an order",
		Holds:    "no property broke",
		NotRun:   "the fault does not apply to this lock",
		Unclear:  "inconclusive",
	}[e]
}

// Ending returns what became of the cell's lock. A late client counts as safe only where the lock
// gives out fences: without them, a run in which no data was damaged was lucky.
func (c Cell) Ending() Ending {
	switch {
	case c.Verdict == checker.NotApplicable || c.Observed == notObserved:
		return NotRun
	case c.Observed == NothingObserved || c.Verdict == checker.Inconclusive && c.Observed == safeObserved:
		return Unclear
	case c.Observed == safeObserved:
		return Holds
	}
	for _, row := range endingOf {
		if row.property == c.Worst().Property {
			if row.ending == LateSafe && !c.Fences {
				return Late
			}
			return row.ending
		}
	}
	return Broke
}

// endingOf maps the properties that people ask about to endings, the worst first.
var endingOf = []struct {
	property verdicts.Property
	ending   Ending
}{
	{verdicts.Progress, Stuck},
	{verdicts.MutualExclusion, Two},
	{verdicts.StoreIntegrity, Late},
	{verdicts.ExclusiveUse, LateSafe},
}

// Breaks returns what the run of the cell broke; none if it was not run or has no verdict.
func (c Cell) Breaks() []verdicts.Break {
	if c.Observed == notObserved || c.Observed == NothingObserved {
		return nil
	}
	return verdicts.ParseExpectation(c.Observed).Breaks
}

// Worst returns the first observed break of the property that decides the ending; of a cell that
// broke otherwise, its first break; the zero value if nothing broke.
func (c Cell) Worst() (worst verdicts.Break) {
	breaks := c.Breaks()
	for _, row := range endingOf {
		if i := slices.IndexFunc(breaks, func(b verdicts.Break) bool { return b.Property == row.property }); i >= 0 {
			return breaks[i]
		}
	}
	if len(breaks) > 0 {
		worst = breaks[0]
	}
	return worst
}
