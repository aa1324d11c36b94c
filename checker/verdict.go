package checker

import (
	"slices"

	"github.com/lockbench/lockbench/internal/binomial"
	"github.com/lockbench/lockbench/verdicts"
)

// Result is the outcome of a judgement: pass, fail or inconclusive, or n/a if the property does not apply.
type Result string

// The results.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	Inconclusive  Result = "inconclusive"
	NotApplicable Result = "n/a"
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

// Doubt notes why the history shows less than it seems to, once for each reason, and makes a pass inconclusive.
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
	Name          verdicts.Property      `json:"name"`
	Verdict       Result                 `json:"verdict"`
	Violations    int                    `json:"violations"`
	Opportunities int                    `json:"opportunities"`        // hand-overs, uses, writes, …: what could have gone wrong and was judged
	Judged        int                    `json:"judged"`               // the same number
	NotJudged     map[string]int         `json:"not_judged,omitempty"` // what could have gone wrong but was not judged, by reason
	MetFault      int                    `json:"met_fault"`            // of these, how many met a fault window
	Rate          float64                `json:"rate"`
	CI95          [2]float64             `json:"ci95"` // Clopper–Pearson; with no violation the upper bound is about 3/n
	Causes        map[verdicts.Cause]int `json:"causes,omitempty"`
	First         *Violation             `json:"first,omitempty"`
	Note          string                 `json:"note,omitempty"` // why n/a or inconclusive
}

// Violation is one violation of a property.
type Violation struct {
	Property         verdicts.Property `json:"property"`
	Cause            verdicts.Cause    `json:"cause"`
	At               int64             `json:"at"`      // nanoseconds on the run's base
	Lasted           int64             `json:"lasted"`  // how long what shows it took, from At: an overlap, a wait, a call, a window
	Clients          []string          `json:"clients"` // the wronged client first
	Key              string            `json:"key"`
	Story            []string          `json:"story"`           // five to thirteen lines
	Lanes            []string          `json:"lanes,omitempty"` // ASCII drawing
	Witness          Witness           `json:"-"`               // the holds and operations that show it; filled in
	Write            writeFlaw         `json:"-"`               // store-integrity: what is wrong with the last client's write
	WithinClockError bool              `json:"within_clock_error,omitempty"`
	Around           *Surroundings     `json:"-"` // what its picture shows; nil if it does not come from a check

	shownBy shownBy
}

// writeFlaw is what is wrong with a write to the guarded store.
type writeFlaw uint8

// What may be wrong with a write.
const (
	NoFlaw     writeFlaw = iota
	StaleFence           // its fence is below one already written
	StaleHold            // its hold was gone, and under a later one had been written
	LostUpdate           // it overwrote a value that its writer had not read
	NotLast              // nothing was written after it, and the store ended with another value
)

// shownBy is what shows a violation, where the checker must know: it decides what else may explain it.
type shownBy uint8

const (
	byRecord   shownBy = iota
	byOthers           // what became of other holds: a grant that excludes its own, or the early end of another's
	byCommands         // which executions do not contain
	byChain            // the order of the writes, in which the clock error counts
	byBeliefs          // two that conflict, which only a fault of a server explains
)

// Damage is what the guarded store lost.
type Damage struct {
	LostUpdates int   `json:"lost_updates"`
	StaleWrites int   `json:"stale_writes"`
	Expected    int64 `json:"expected"` // the value that the store would hold without lost writes
	Final       int64 `json:"final"`    // the value it holds
	Missing     int64 `json:"missing"`  // expected - final
}

// Estimate sets the confidence interval of each property's rate.
func (v *Verdict) Estimate() {
	for i := range v.Properties {
		p := &v.Properties[i]
		p.CI95 = binomial.Interval(p.Violations, p.Opportunities)
	}
}

// CountCauses counts the causes of the kept violations again and sets each property's first violation. Call it after setting causes.
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
			if p.Causes == nil {
				p.Causes = map[verdicts.Cause]int{}
			}
			p.Causes[found.Cause]++
		}
	}
}
