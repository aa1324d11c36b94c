package report

import (
	"fmt"
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
	if len(injected) == 0 {
		return text + ", without faults: " + happened(r) + "."
	}
	injected = slices.Compact(slices.Sorted(slices.Values(injected)))
	return text + ", under " + joined(injected) + ": " + happened(r) + "."
}

// happened is the end of the sentence: what became of the lock.
func happened(r results.Result) string {
	if r.Verdict == checker.Inconclusive {
		return "nothing is decided" + strings.TrimSuffix(", because "+r.Reason, ", because ")
	}
	c := results.NewCell(r, verdicts.Safe())
	p, cause := c.Worst()
	if p == "" {
		return "nothing broke" + strings.TrimSuffix(" ("+strengthOf(r)+")", " ()")
	}
	text := c.Ending().About()
	if c.Ending() == results.Broke {
		text = properties[p].broken
	}
	i := slices.IndexFunc(r.Properties, func(one checker.Property) bool { return one.Name == p })
	text += fmt.Sprintf(", at %s of %s", count(r.Properties[i].Violations), Plural(r.Properties[i].Opportunities, opportunity(p)))
	if about := CauseAbout(cause); about != "" {
		text += ". The cause: " + strings.TrimSuffix(about, ".")
	}
	return text
}
