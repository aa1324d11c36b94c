// Package repro is the list of named bugs that lockbench shows on demand: each claim of the published recipes that does not hold, the
// five cases of the argument about Redlock, bugs that libraries were reported to have, planted again in locks without them, and bugs that
// were found in libraries as they are.
//
// A [Bug] is data: a lock, and either a scenario in which it must break in a known way, or a search through schedules that must find
// it broken. One that a search found first has the tape of that schedule, too. [Run] runs it and says whether what was seen is what was announced. The package neither injects nor
// judges: harness and sim do. It refuses to call a bug reproduced for another violation than the one that it is named
// after, and, where a bug has a twin that must survive the same treatment, without having seen the twin survive.
package repro

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Bug is one named bug.
type Bug struct {
	Name   string
	What   string // one sentence
	Source string // article, paper or public report
	Lock   string // name of the variant
	// Scenario is what is done to it, and Set changes values of the scenario as --set does. "" means that the schedules of a small
	// setting are searched, which only the simulator can do.
	Scenario string
	Set      []string
	// Tape is the embedded tape of a schedule that shows the bug, which the simulator follows in place of the scenario; "" for none.
	Tape string
	// Shows lists "property" or "property/cause"; one of them must be seen.
	Shows []string
	// Spares is a lock without the bug, which must break none of Shows in the same scenario, or along the tape that a search found; "" means that
	// none is run. A search has always one.
	Spares string
}

// Bugs lists every bug: those of the recipes, those of the argument about Redlock, those that libraries were reported to have, and
// those that were found in libraries as they are.
func Bugs() []Bug { return slices.Concat(recipes(), argument(), reports(), found()) }

// Find returns the bug of a name.
func Find(name string) (Bug, bool) {
	for _, b := range Bugs() {
		if b.Name == name {
			return b, true
		}
	}
	return Bug{}, false
}

// Searches reports whether the bug is found by searching, and so in the simulator alone.
func (b Bug) Searches() bool { return b.Scenario == "" }

// Command is the lockbench command that shows the same without this list.
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

// shown tells which of a list of "property/cause" the bug announces.
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
