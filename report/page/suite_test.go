package page

import (
	"io"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// TestScenariosThatNothingRanIn: they are named in a line, and are no column without a word in it.
func TestScenariosThatNothingRanIn(t *testing.T) {
	s := results.Suite{Server: "sim", Cells: []results.Cell{
		{Lock: "token", Scenario: "steady", Observed: "safe", Verdict: checker.Pass},
		{Lock: "token", Scenario: "sentinel-failover", Verdict: checker.NotApplicable, Why: "needs sentinels"}}}
	text := render(t, func(w io.Writer) error { return Suite(w, s, t.TempDir(), "") })
	if !strings.Contains(text, "Run with no lock here: sentinel-failover.") || strings.Contains(text, "<span>sentinel-failover</span>") {
		t.Error("sentinel-failover is not told of in a line, or is a column")
	}
}
