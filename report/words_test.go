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
