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

// TestAViolationIsWholeByItself: its page, mailed alone, says what broke and which command repeats
// it.
func TestAViolationIsWholeByItself(t *testing.T) {
	s := Scene{Lock: "token", Scenario: "steady", Property: "mutual-exclusion", Cause: "double-grant", Key: "job", Story: []string{"c1 was granted the lock", "so was c2"}}
	text := render(t, func(w io.Writer) error {
		return Violation(w, s, "lockbench run --lock token --seed 7", "../report.html")
	})
	holds(t, text, "token × steady", "mutual-exclusion", "double-grant", "so was c2", `<pre class="command">lockbench run --lock token --seed 7</pre>`)
}

// aComparison has a lock that broke, a figure that is worse, one that may be noise, and one without
// a change.
func aComparison(prefix string) results.Comparison {
	row := func(metric string, delta float64, mark string) results.ComparisonRow {
		now := 100 * (1 + delta)
		return results.ComparisonRow{Lock: prefix + "token", Setting: "8 clients", Metric: metric, Unit: results.PerSecond, Base: results.Figure{Unit: results.PerSecond, Value: new(float64)},
			New: results.Figure{Unit: results.PerSecond, Value: &now}, Delta: &delta, Mark: mark, N1: 6, N2: 6, Gated: true}
	}
	none := row("recovery", 0, results.MarkFewer)
	none.Delta = nil
	return results.Comparison{Schema: results.CompareSchema, Verdict: results.CompareUnsafe, Base: prefix + "base.json", New: "new.json", Kind: "benches", Threshold: .1, Alpha: .01,
		Changes: []results.Change{{Lock: prefix + "fair", Scenario: "8 clients", Change: results.Broken, Was: "safe", Is: "breaks mutual-exclusion"}},
		Rows:    []results.ComparisonRow{row("throughput", -.4, results.MarkWorse), row("requests", .03, results.MarkNone), row("acquire.p50", 7, results.MarkWorse), none}}
}

// TestComparisonBars: a bar begins in the middle and goes to the side of its change, to the edge at
// most.
func TestComparisonBars(t *testing.T) {
	page := render(t, func(w io.Writer) error { return Comparison(w, aComparison("")) })
	for what, want := range map[string]string{
		"a fall of 40 % goes to the left, of an edge at 100 %": `<rect class="b-worse" x="60" y="4" width="40"`,
		"a rise of 3 % that may be noise is grey":              `<rect class="b-none" x="100" y="4" width="3"`,
		"a rise of 700 % ends at the edge":                     `<rect class="b-worse" x="100" y="4" width="100"`,
		"and says so":                                          "(beyond the edge)",
		"the threshold of 10 % is a line":                      `<line class="limit" x1="110" x2="110"`,
		"the answer comes first":                               `<span class="verdict fail">a lock that held breaks now</span>`,
		"what broke":                                           "breaks mutual-exclusion",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: no %s", what, want)
		}
	}
	bench := render(t, func(w io.Writer) error { return Bench(w, aBench("")) }) // with the same comparison
	for of, page := range map[string]string{"compare": page, "bench": bench} {
		if n := strings.Count(page, `<svg class="bar"`); n != 3 {
			t.Errorf("%s: %d bars, want none of a figure without a change", of, n)
		}
	}
}
