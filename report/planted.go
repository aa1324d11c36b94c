package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// locksAndPlanted separates the cells of locks from those of planted bugs.
func locksAndPlanted(cells []results.Cell) (locks, planted []results.Cell) {
	for _, c := range cells {
		if c.Planted {
			planted = append(planted, c)
		} else {
			locks = append(locks, c)
		}
	}
	return locks, planted
}

// plantedLines lists the planted bugs, each with the scenario that must show it and the break that did.
func plantedLines(planted []results.Cell, s Style) []string {
	if len(planted) == 0 {
		return nil
	}
	lock, scenario := 0, 0
	for _, c := range planted {
		lock, scenario = max(lock, len(c.Lock)), max(scenario, len(c.Scenario))
	}
	lines := []string{"", "planted bugs and the scenario that must show each"}
	for _, c := range planted {
		rows := wrapped(fmt.Sprintf("%-*s  %-*s  ", lock, c.Lock, scenario, c.Scenario), caught(c))
		for _, row := range rows {
			lines = append(lines, s.verdict(c.Verdict, row))
		}
	}
	return lines
}

// caught returns which of the expected breaks showed a planted bug.
func caught(c results.Cell) string {
	switch c.Verdict {
	case checker.Pass:
		return "caught by " + expectedOf(c)
	case checker.NotApplicable:
		return "not run: " + c.Why
	}
	return "missed"
}

// expectedOf returns the observed breaks that were expected, with their causes.
func expectedOf(c results.Cell) string {
	must, _ := pairs(c.Expected)
	seen := slices.DeleteFunc(strings.Fields(c.Observed), func(o string) bool {
		return !slices.ContainsFunc(must, func(want string) bool { return covers(want, o) })
	})
	return strings.Join(seen, " ")
}

func sensitivityText(x results.Sensitivity) string {
	if x.Planted == 0 {
		return "no planted bugs were run"
	}
	text := fmt.Sprintf("caught %d/%d planted bugs", x.Caught, x.Planted)
	if x.Caught > 0 {
		text += ", median " + Span(x.Median)
	}
	if len(x.Missed) > 0 {
		text += "; missed " + strings.Join(x.Missed, ", ")
	}
	return text
}
