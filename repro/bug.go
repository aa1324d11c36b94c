// Package repro lists the named bugs that lockbench reproduces on demand: false claims of published
// recipes, the five cases of the argument about Redlock, reported bugs of libraries, planted in
// correct locks, and bugs found in released libraries.
//
// A [Bug] is data: a lock, and a scenario in which it must break in a known way, a search of
// schedules that must find the violation, or the tape of such a schedule. [Run] runs it, through
// harness or sim, and reports whether the expected violation was observed. No other violation
// counts as the bug. If the bug has a control, a lock without the bug, the control must not break
// in the same experiment.
package repro

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Bug is one named bug.
type Bug struct {
	Name   string `json:"name"`
	What   string `json:"what"`   // one sentence
	Source string `json:"source"` // article, paper or public report
	Lock   string `json:"lock"`   // name of the variant
	// Scenario shows the bug; Set changes its values, as --set does. "" means a search of
	// schedules, which needs the simulator.
	Scenario string   `json:"scenario,omitempty"`
	Set      []string `json:"-"`
	// Tape is the embedded tape of a schedule that shows the bug. The simulator replays it in place
	// of the scenario. "": none.
	Tape string `json:"-"`
	// Shows lists "property/cause", or "property" where the cause may be any; one of them must be
	// observed.
	Shows []string `json:"shows"`
	// Control is a lock without the bug, which must break none of Shows in the same scenario, or
	// along the tape of a search. "": none. A search always has one.
	Control string `json:"spares,omitempty"`
}

// Bugs returns all bugs.
func Bugs() []Bug { return slices.Concat(recipes(), argument(), reports(), found()) }

// Find returns the bug with a name.
func Find(name string) (Bug, bool) {
	for _, b := range Bugs() {
		if b.Name == name {
			return b, true
		}
	}
	return Bug{}, false
}

// Searches reports whether the bug is found by a search, which needs the simulator.
func (b Bug) Searches() bool { return b.Scenario == "" }

// Command returns the lockbench command that shows the violation.
func (b Bug) Command() string {
	if b.Searches() {
		return results.CommandLine([]string{"lockbench", "explore", "--lock", b.Lock})
	}
	words := []string{"lockbench", "run", "--lock", b.Lock, "--scenario", b.Scenario}
	for _, set := range b.Set {
		words = append(words, "--set", set)
	}
	return results.CommandLine(words)
}

// shown returns those of the observed "property/cause" that the bug is expected to show.
func (b Bug) shown(observed []string) []string {
	var out []string
	for _, o := range observed {
		property, _, _ := strings.Cut(o, "/")
		if slices.Contains(b.Shows, o) || slices.Contains(b.Shows, property) {
			out = append(out, o)
		}
	}
	return out
}
