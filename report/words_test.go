package report_test

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// TestEveryNameIsExplained: a page explains each property and each cause where it shows it.
func TestEveryNameIsExplained(t *testing.T) {
	for _, p := range verdicts.Properties() {
		if report.PropertyAbout(p) == "" {
			t.Errorf("the property %s is not explained", p)
		}
	}
	for _, c := range verdicts.Causes() {
		if c != verdicts.CauseUnknown && report.CauseAbout(c) == "" {
			t.Errorf("the cause %s is not explained", c)
		}
	}
}

// TestSentencesSayWhatBroke: whatever property broke, the first sentence of a run says in plain
// words what happened.
func TestSentencesSayWhatBroke(t *testing.T) {
	for _, p := range verdicts.Properties() {
		r := results.Result{Verdict: checker.Fail, Lock: "token", Properties: []checker.Property{{Name: p, Verdict: checker.Fail, Violations: 1, Opportunities: 2, Causes: map[verdicts.Cause]int{verdicts.MisUnlock: 1}}}}
		if s := report.RunSentence(r, 0, nil); strings.Contains(s, "another promise") || strings.Contains(s, ": ,") {
			t.Errorf("%s: %s", p, s)
		}
	}
}

// TestSentenceOfAPass: how much a pass says is told in plain words.
func TestSentenceOfAPass(t *testing.T) {
	const want = "1 client of token took turns, with 48,214 holds, without faults: nothing broke in 48,213 hand-overs, " +
		"so that with 95 % confidence at most 0.0062 % of them break; 120 met a fault."
	if got := report.RunSentence(passing(), 0, nil); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
