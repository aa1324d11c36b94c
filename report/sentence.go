package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// RunSentence says in plain English what a run tried and what happened. schedules is how many the
// simulator ran; 0 for a run on servers. injected are the faults that took effect.
func RunSentence(r results.Result, schedules int, injected []string) string {
	clients := "Clients"
	if r.Load.Clients > 0 {
		clients = Plural(r.Load.Clients, "client")
	}
	text := fmt.Sprintf("%s of %s took turns", clients, r.Lock)
	if n := r.Operations["acquire"]["ok"]; n > 0 {
		text += ", with " + Plural(n, "hold")
	}
	if schedules > 1 {
		text += fmt.Sprintf(" in %s simulated schedules", count(schedules))
	}
	switch injected = unique(injected); {
	case len(injected) > 0:
		text += ", under " + joined(injected)
	default:
		text += ", without faults"
	}
	return text + ": " + happened(r) + "."
}

// happened is the end of the sentence: what became of the lock.
func happened(r results.Result) string {
	c := results.NewCell(r, verdicts.Safe())
	p, cause := c.Worst()
	switch {
	case r.Verdict == checker.Inconclusive:
		return "nothing is decided" + strings.TrimSuffix(", because "+r.Reason, ", because ")
	case p == "":
		for _, one := range r.Properties {
			if one.Name == verdicts.MutualExclusion && one.Verdict == checker.Pass {
				return "nothing broke (" + Strength(one) + ")"
			}
		}
		return "nothing broke"
	}
	text := c.Ending().About()
	if c.Ending() == results.Broke {
		text = properties[p].broken
	}
	for _, one := range r.Properties {
		if one.Name == p {
			text += fmt.Sprintf(", at %s of %s", count(one.Violations), Plural(one.Opportunities, opportunity(p)))
		}
	}
	if about := CauseAbout(cause); about != "" {
		text += ". The cause: " + strings.TrimSuffix(about, ".")
	}
	return text
}

func unique(words []string) []string {
	seen := map[string]bool{}
	for _, w := range words {
		seen[w] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
