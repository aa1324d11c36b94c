package results

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// SuiteSchema is the schema name of "suite -o json".
const SuiteSchema = "lockbench/suite/v1"

// Suite is what every variant was found to be in every scenario.
type Suite struct {
	Schema      string         `json:"schema"`
	Verdict     checker.Result `json:"verdict"`
	Server      string         `json:"server"`
	Seed        uint64         `json:"seed"`
	Duration    time.Duration  `json:"duration"` // nanoseconds
	Cells       []Cell         `json:"cells"`
	Sensitivity Sensitivity    `json:"sensitivity"`
	Agreement   *Agreement     `json:"agreement,omitempty"`   // with a stored suite, when there was one to compare with
	Notes       []string       `json:"notes,omitempty"`       // warnings that must be shown
	Start       time.Time      `json:"start,omitzero"`        // UTC
	Missing     int            `json:"missing,omitempty"`     // cells that were to be run and were not: the suite was interrupted
	Shard       *Shard         `json:"shard,omitempty"`       // the part of the plan that was run; nil: the whole
	Environment *Environment   `json:"environment,omitempty"` // where it was run
	Rerun       string         `json:"rerun"`
	Baseline    string         `json:"baseline,omitempty"` // the stored suite that this one was compared with
	Changes     []Change       `json:"changes,omitempty"`  // against it
}

// Cell is one variant in one scenario. Its verdict is pass when the observation is as expected, whether that is a lock that
// holds or one that breaks; fail when it differs; n/a when the scenario does not apply.
type Cell struct {
	Lock     string         `json:"lock"`
	Scenario string         `json:"scenario"`
	Expected string         `json:"expected"` // "safe", or property/cause pairs; those in parentheses may be missing
	Observed string         `json:"observed"` // "safe", pairs, "n/a", or NothingObserved when no verdict came about
	Verdict  checker.Result `json:"verdict"`
	Why      string         `json:"why,omitempty"`     // of what differs, is inconclusive, or does not apply
	Planted  bool           `json:"planted,omitempty"` // the variant is a planted bug
	Run      string         `json:"run,omitempty"`     // run directory
	Rerun    string         `json:"rerun,omitempty"`   // the command that runs this cell alone
	Duration time.Duration  `json:"duration"`          // nanoseconds that the cell took
	// Properties is what each property was found to be in the run.
	Properties map[history.Property]checker.Result `json:"properties,omitempty"`
}

// NewCell compares what a run showed with what was expected of it. What differs while the machine itself stalled a client is
// inconclusive: it cannot be told from the lock's doing.
func NewCell(r Result, want impls.Expectation) Cell {
	c := Cell{Lock: r.Lock, Scenario: r.Scenario, Expected: want.String(), Verdict: checker.Pass, Properties: byProperty(r), Rerun: r.Rerun}
	seen := Observed(r)
	c.Observed = breaksText(seen)
	missing, extra := without(want.Breaks, seen), without(seen, slices.Concat(want.Breaks, want.May))
	switch {
	case want.NA != "":
		c.Verdict, c.Why = checker.NotApplicable, want.NA
	case len(extra) > 0:
		c.Verdict, c.Why = checker.Fail, "not expected: "+breaksText(extra)
	case r.Verdict == checker.Inconclusive:
		c.Verdict, c.Why = checker.Inconclusive, strings.Join(slices.Concat(inconclusive(r), r.Notes), "; ")
	case len(missing) > 0:
		c.Verdict, c.Why = checker.Fail, "not seen: "+breaksText(missing)
	}
	if c.Verdict == checker.Fail && r.Health.Stalled {
		c.Verdict = checker.Inconclusive
		c.Why = fmt.Sprintf("the machine stalled for %v, which is a fault that nobody placed; %s", r.Health.MaxStall.Round(time.Millisecond), c.Why)
	}
	return c
}

// PlantedCell compares what a run of a planted bug showed with what it must show. What it breaks besides is no matter: it is a bug.
func PlantedCell(r Result, want impls.Expectation) Cell {
	c := Cell{Lock: r.Lock, Scenario: r.Scenario, Expected: want.String(), Observed: breaksText(Observed(r)), Verdict: checker.Pass,
		Properties: byProperty(r), Rerun: r.Rerun}
	switch {
	case Shows(r, want):
	case r.Verdict == checker.Inconclusive:
		c.Verdict, c.Why = checker.Inconclusive, strings.Join(slices.Concat(inconclusive(r), r.Notes), "; ")
	default:
		c.Verdict, c.Why = checker.Fail, "the planted bug did not show"
	}
	return c
}

func byProperty(r Result) map[history.Property]checker.Result {
	out := make(map[history.Property]checker.Result, len(r.Properties))
	for _, p := range r.Properties {
		out[p.Name] = p.Verdict
	}
	return out
}

// Shows reports whether a result has every break that is expected.
func Shows(r Result, want impls.Expectation) bool {
	seen := Observed(r)
	return !slices.ContainsFunc(want.Breaks, func(b impls.Break) bool { return !slices.ContainsFunc(seen, b.Covers) })
}

// NACell is the cell of a scenario that does not apply and was not run.
func NACell(lock, scenario, why string) Cell {
	return Cell{Lock: lock, Scenario: scenario, Expected: "n/a: " + why, Observed: "n/a", Verdict: checker.NotApplicable, Why: why}
}

// NothingObserved is the Observed of a cell whose run came to no verdict.
const NothingObserved = "nothing"

// ErrorCell is the cell of a run that came to no verdict.
func ErrorCell(lock, scenario string, want impls.Expectation, err error) Cell {
	return Cell{Lock: lock, Scenario: scenario, Expected: want.String(), Observed: NothingObserved, Verdict: checker.Inconclusive, Why: err.Error()}
}

// Observed lists the breaks that a run showed, in the order of the properties. The second opinion is not a break of its
// own where the exact sweep found the same thing: linearizability counts only beside a mutual exclusion that did not fail.
func Observed(r Result) []impls.Break {
	var out []impls.Break
	for _, p := range r.Properties {
		if p.Verdict != checker.Fail || p.Name == history.Linearizability && failed(r, history.MutualExclusion) {
			continue
		}
		for _, cause := range sortedCauses(p.Causes) {
			out = append(out, impls.Break{Property: p.Name, Cause: cause})
		}
	}
	return out
}

func failed(r Result, name history.Property) bool {
	return slices.ContainsFunc(r.Properties, func(p checker.Property) bool { return p.Name == name && p.Verdict == checker.Fail })
}

// sortedCauses returns a failed property's causes by name; one that names none has an unknown one.
func sortedCauses(causes map[history.Cause]int) []history.Cause {
	var out []history.Cause
	for cause := range causes {
		out = append(out, cause)
	}
	if len(out) == 0 {
		out = append(out, history.CauseUnknown)
	}
	slices.Sort(out)
	return out
}

func inconclusive(r Result) []string {
	var out []string
	for _, p := range r.Properties {
		if p.Verdict == checker.Inconclusive {
			out = append(out, strings.TrimSuffix(string(p.Name)+": "+p.Note, ": "))
		}
	}
	return out
}

func without(all, some []impls.Break) []impls.Break {
	var out []impls.Break
	for _, b := range all {
		if !slices.Contains(some, b) {
			out = append(out, b)
		}
	}
	return out
}

func breaksText(breaks []impls.Break) string { return impls.Expectation{Breaks: breaks}.String() }

// Judge fills in the verdict and the sensitivity of a suite from its cells. A suite that was interrupted is no pass.
func (s *Suite) Judge() {
	s.Schema, s.Verdict, s.Sensitivity = SuiteSchema, checker.Pass, sensitivity(s.Cells)
	if s.Cells == nil {
		s.Cells = []Cell{} // null is not an array
	}
	has := func(v checker.Result) bool {
		return slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Verdict == v })
	}
	switch {
	case has(checker.Fail) || len(s.Sensitivity.Missed) > 0:
		s.Verdict = checker.Fail
	case has(checker.Inconclusive) || !has(checker.Pass) || s.Missing > 0:
		s.Verdict = checker.Inconclusive
	}
}
