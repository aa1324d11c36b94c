package results

import (
	"strings"

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
	if _, p := c.worst(); p != "" {
		for _, row := range endingOf {
			if row.property == p {
				if row.ending == LateSafe && !c.Fences {
					return Late
				}
				return row.ending
			}
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

// worst returns the first observed break of the property that decides the ending; of a cell that
// broke otherwise, its first break. It is "" for a cell that broke nothing.
func (c Cell) worst() (observed string, p verdicts.Property) {
	breaks := strings.Fields(c.Observed)
	for _, row := range endingOf {
		for _, b := range breaks {
			if strings.HasPrefix(b, string(row.property)+"/") {
				return b, row.property
			}
		}
	}
	if name, _, ok := strings.Cut(c.Observed, "/"); ok {
		return breaks[0], verdicts.Property(name)
	}
	return "", ""
}

// Worst returns the property that decides the ending, and its cause; "" if nothing broke.
func (c Cell) Worst() (verdicts.Property, verdicts.Cause) {
	observed, p := c.worst()
	_, cause, _ := strings.Cut(observed, "/")
	return p, verdicts.Cause(cause)
}
