package results

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// SuiteSchema is the schema name of "suite -o json".
const SuiteSchema = "lockbench/suite/v1"

// Suite is the result of every lock in every scenario.
type Suite struct {
	Schema   string         `json:"schema"`
	Verdict  checker.Result `json:"verdict"`
	Server   string         `json:"server"`
	Product  string         `json:"product,omitempty"` // the servers' make and version; see Result
	Seed     uint64         `json:"seed"`
	Duration time.Duration  `json:"duration"` // nanoseconds
	Cells    []Cell         `json:"cells"`
	// by lock, what all its cells reached; see Result. Not of planted bugs, whose cells end early
	Reached map[string]history.Reach `json:"reached,omitempty"`
	// by lock: what no cell of it reached, so that the suite shows nothing about it
	NeverReached map[string][]string `json:"never_reached,omitempty"`
	Sensitivity  Sensitivity         `json:"sensitivity"`
	Notes        []string            `json:"notes,omitempty"` // warnings that must be shown
	Start        time.Time           `json:"start,omitzero"`  // UTC
	// planned cells that were not run because the suite was interrupted
	Missing     int          `json:"missing,omitempty"`
	Shard       *Shard       `json:"shard,omitempty"`       // nil: the whole plan
	Environment *Environment `json:"environment,omitempty"` //
	Rerun       string       `json:"rerun"`
	Baseline    string       `json:"baseline,omitempty"` // path of the stored suite that it was compared with
	Changes     []Change     `json:"changes,omitempty"`  // since Baseline
}

// Cell is one lock in one scenario. It passes if the lock held or broke as expected, and is n/a if
// the scenario does not apply.
type Cell struct {
	Lock     string         `json:"lock"`
	Scenario string         `json:"scenario"`
	Expected string         `json:"expected"` // "safe", or property/cause pairs; those in parentheses are optional
	Observed string         `json:"observed"` // "safe", pairs, "n/a", or NothingObserved
	Verdict  checker.Result `json:"verdict"`
	Why      string         `json:"why,omitempty"`     // reason for a verdict other than pass
	Planted  bool           `json:"planted,omitempty"` // the variant is a planted bug
	// the lock gives out fences, by which a store can refuse a late write
	Fences   bool          `json:"fences,omitempty"`
	Run      string        `json:"run,omitempty"`   // run directory
	Rerun    string        `json:"rerun,omitempty"` // the command that runs this cell alone
	Duration time.Duration `json:"duration"`        // nanoseconds that the cell took
	// Properties has the run's verdict on each property.
	Properties map[verdicts.Property]checker.Result `json:"properties,omitempty"`
}

// NewCell compares a run with what was expected. A difference is inconclusive if the host stalled,
// which may have caused it.
func NewCell(r Result, want verdicts.Expectation) Cell {
	if r.Server != Simulator {
		want = want.OnServers()
	}
	c := Cell{Lock: r.Lock, Scenario: r.Scenario, Expected: want.String(), Verdict: checker.Pass, Properties: byProperty(r), Rerun: r.Rerun}
	fencing, judged := c.Properties[verdicts.FencingOrder]
	c.Fences = judged && fencing != checker.NotApplicable
	seen := Observed(r)
	c.Observed = breaksText(seen)
	missing := slices.DeleteFunc(slices.Clone(want.Breaks), func(b verdicts.Break) bool { return slices.Contains(seen, b) })
	// where a property of order may break by a cause, a linearizability violation by the same cause is
	// the same break: the run was too short for the property alone to show it
	extra := slices.DeleteFunc(seen, func(b verdicts.Break) bool {
		return slices.ContainsFunc(slices.Concat(want.Breaks, want.May), func(w verdicts.Break) bool {
			return w == b || b.Property == verdicts.Linearizability && w.Cause == b.Cause && ofOrder(w.Property)
		})
	})
	switch {
	case want.NA != "":
		c.Verdict, c.Why = checker.NotApplicable, want.NA
	case len(extra) > 0:
		c.Verdict, c.Why = checker.Fail, "not expected: "+breaksText(extra)
	case r.Verdict == checker.Inconclusive:
		c.Verdict, c.Why = checker.Inconclusive, inconclusive(r)
	case len(missing) > 0:
		c.Verdict, c.Why = checker.Fail, "not seen: "+breaksText(missing)
	}
	if c.Verdict == checker.Fail && r.Health.Stalled {
		c.Verdict = checker.Inconclusive
		c.Why = fmt.Sprintf("unplanned stall of the host for %v; %s", r.Health.MaxStall.Round(time.Millisecond), c.Why)
	}
	return c
}

// PlantedCell compares a run of a planted bug with what it must show. Other violations are allowed.
func PlantedCell(r Result, want verdicts.Expectation) Cell {
	c := Cell{Lock: r.Lock, Scenario: r.Scenario, Expected: want.String(), Observed: breaksText(Observed(r)), Verdict: checker.Pass,
		Properties: byProperty(r), Rerun: r.Rerun}
	switch {
	case Shows(r, want):
	case r.Verdict == checker.Inconclusive:
		c.Verdict, c.Why = checker.Inconclusive, inconclusive(r)
	default:
		c.Verdict, c.Why = checker.Fail, "the planted bug did not show"
	}
	return c
}

func byProperty(r Result) map[verdicts.Property]checker.Result {
	out := make(map[verdicts.Property]checker.Result, len(r.Properties))
	for _, p := range r.Properties {
		out[p.Name] = p.Verdict
	}
	return out
}

// Shows reports whether a result has every expected break.
func Shows(r Result, want verdicts.Expectation) bool {
	seen := Observed(r)
	return !slices.ContainsFunc(want.Breaks, func(b verdicts.Break) bool { return !slices.ContainsFunc(seen, b.Covers) })
}

// NACell returns the cell of a scenario that does not apply and was not run.
func NACell(lock, scenario, why string) Cell {
	return Cell{Lock: lock, Scenario: scenario, Expected: "n/a: " + why, Observed: notObserved, Verdict: checker.NotApplicable, Why: why}
}

// NothingObserved is Cell.Observed of a run that has no verdict.
const NothingObserved = "nothing"

// Cell.Observed of a run in which nothing broke, and of a cell that was not run.
const (
	safeObserved = "safe"
	notObserved  = "n/a"
)

// ErrorCell returns the cell of a run that ended with an error.
func ErrorCell(lock, scenario string, want verdicts.Expectation, err error) Cell {
	return Cell{Lock: lock, Scenario: scenario, Expected: want.String(), Observed: NothingObserved, Verdict: checker.Inconclusive, Why: err.Error()}
}

// Observed returns the breaks that a run showed, in the order of the properties. Linearizability
// counts only if no property of grants, refusals, releases or fences failed: otherwise both are the
// same break.
func Observed(r Result) []verdicts.Break {
	var out []verdicts.Break
	noOrder := slices.ContainsFunc(r.Properties, func(p checker.Property) bool { return p.Verdict == checker.Fail && ofOrder(p.Name) })
	for _, p := range r.Properties {
		if p.Verdict != checker.Fail || p.Name == verdicts.Linearizability && noOrder {
			continue
		}
		for _, cause := range slices.Sorted(maps.Keys(p.Causes)) {
			out = append(out, verdicts.Break{Property: p.Name, Cause: cause})
		}
		if len(p.Causes) == 0 {
			out = append(out, verdicts.Break{Property: p.Name, Cause: verdicts.CauseUnknown})
		}
	}
	return out
}

// ofOrder reports whether a property is one of grants, releases, refusals or fences, which a
// linearization includes.
func ofOrder(p verdicts.Property) bool {
	return slices.Contains([]verdicts.Property{verdicts.MutualExclusion, verdicts.ReleaseSafety, verdicts.Refusal, verdicts.FencingOrder}, p)
}

func inconclusive(r Result) string {
	var out []string
	if r.Reason != "" {
		out = append(out, r.Reason)
	}
	for _, p := range r.Properties {
		if p.Verdict == checker.Inconclusive {
			out = append(out, strings.TrimSuffix(string(p.Name)+": "+p.Note, ": "))
		}
	}
	return strings.Join(append(out, r.Notes...), "; ")
}

func breaksText(breaks []verdicts.Break) string { return verdicts.Expectation{Breaks: breaks}.String() }

// Judge sets the verdict and the sensitivity of a suite from its cells. An interrupted suite never
// passes.
func (s *Suite) Judge() {
	s.Schema, s.Verdict, s.Sensitivity = SuiteSchema, checker.Pass, Sensitivity{Missed: []string{}}
	if s.Cells == nil {
		s.Cells = []Cell{} // null is not an array
	}
	caught := map[string]bool{} // by planted bug
	var took []time.Duration
	for _, c := range s.Cells {
		if !c.Planted || c.Verdict == checker.NotApplicable {
			continue
		}
		if _, seen := caught[c.Lock]; !seen {
			s.Sensitivity.Planted++
			s.Sensitivity.Missed = append(s.Sensitivity.Missed, c.Lock)
			caught[c.Lock] = false
		}
		if c.Verdict == checker.Pass && c.Observed != breaksText(nil) && !caught[c.Lock] {
			caught[c.Lock] = true
			took = append(took, c.Duration)
		}
	}
	s.Sensitivity.Missed = slices.DeleteFunc(s.Sensitivity.Missed, func(lock string) bool { return caught[lock] })
	if s.Sensitivity.Caught = len(took); len(took) > 0 {
		slices.Sort(took)
		s.Sensitivity.Median = took[(len(took)-1)/2] // the lower one
	}
	has := func(v checker.Result) bool {
		return slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Verdict == v })
	}
	s.NeverReached = map[string][]string{}
	for lock, reached := range s.Reached {
		if never := reached.Never(); len(never) > 0 {
			s.NeverReached[lock] = never
		}
	}
	switch {
	case has(checker.Fail) || len(s.Sensitivity.Missed) > 0:
		s.Verdict = checker.Fail
	case has(checker.Inconclusive) || !has(checker.Pass) || s.Missing > 0:
		s.Verdict = checker.Inconclusive
	}
}

// Reach adds what a cell of a lock reached.
func (s *Suite) Reach(lock string, reached history.Reach) {
	if len(reached) == 0 { // it was not run
		return
	}
	if s.Reached == nil {
		s.Reached = map[string]history.Reach{}
	}
	s.Reached[lock] = s.Reached[lock].Add(reached)
}

// Sensitivity is how many planted bugs were caught. A bug is caught if one of its cells showed all
// expected breaks.
type Sensitivity struct {
	Planted int           `json:"planted"`
	Caught  int           `json:"caught"`
	Missed  []string      `json:"missed"`
	Median  time.Duration `json:"median"` // nanoseconds, of the cells that caught a bug; 0: none
}

//go:embed baseline/suite-sim.json
var keptSuite []byte

// KeptSuite returns the suite that this version keeps: every lock of the catalogue in every
// scenario, in the simulator. Cells of a stored suite do not know which locks give out fences.
func KeptSuite() (Suite, error) {
	var s Suite
	if err := json.Unmarshal(keptSuite, &s); err != nil {
		return s, fmt.Errorf("the suite that is kept with lockbench: %w", err)
	}
	return s, nil
}
