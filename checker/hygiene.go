package checker

import "github.com/lockbench/lockbench/history"

// hygiene: when everybody is done, no key, queue entry, subscription or goroutine is left behind.
//
// Whoever ran the experiment looks, and says what was found; this only counts. The one opportunity is the look.
func hygiene(opt Options) tally {
	t := tally{property: history.Hygiene, applies: opt.Leftovers != nil, note: "nobody looked for what was left behind"}
	if !t.applies {
		return t
	}
	t.opportunities, t.violations = max(1, len(opt.Leftovers)), len(opt.Leftovers)
	for _, what := range opt.Leftovers[:min(len(opt.Leftovers), opt.MaxViolations)] {
		t.kept = append(t.kept, Violation{Property: history.Hygiene, Story: []string{"left behind: " + what}})
	}
	return t
}
