package report

import (
	"fmt"

	"github.com/lockbench/lockbench/results"
)

// changeLines lists what differs from the suite that was compared with.
func changeLines(suite results.Suite, s Style) []string {
	if suite.Baseline == "" {
		return nil
	}
	lines := []string{"", fmt.Sprintf("against %s: %s", suite.Baseline, plural(len(suite.Changes), "change"))}
	for _, c := range suite.Changes {
		kind := fmt.Sprintf("%-12s", c.Change)
		if c.Change == results.Broken || c.Change == results.Gone {
			kind = s.paint(orange, kind)
		}
		lines = append(lines, fmt.Sprintf("%s  %s × %s: was %s, is %s", kind, c.Lock, c.Scenario, orNothing(c.Was), orNothing(c.Is)))
	}
	return lines
}
