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

// TestOutlivedLease: of a client that outlived its lease the sentence says whether the data was
// damaged, and the advice is none that the lock follows already.
func TestOutlivedLease(t *testing.T) {
	overrun := func(p verdicts.Property) checker.Property {
		return checker.Property{Name: p, Verdict: checker.Fail, Violations: 2, Opportunities: 9, Causes: map[verdicts.Cause]int{verdicts.LeaseOverrun: 2}}
	}
	passed := func(p verdicts.Property) checker.Property {
		return checker.Property{Name: p, Verdict: checker.Pass, Opportunities: 9}
	}
	for _, row := range []struct {
		properties             []checker.Property
		sentence, why, further string
	}{
		{[]checker.Property{overrun(verdicts.ExclusiveUse), overrun(verdicts.StoreIntegrity)},
			"at 2 of 9 writes a client wrote after its lease had ended, beside the next holder, and damaged the data.", "without fences", "Let each write carry"},
		{[]checker.Property{overrun(verdicts.ExclusiveUse), passed(verdicts.StoreIntegrity)},
			"at 2 of 9 uses a client worked on after its lease had ended, beside the next holder: its data is at risk.", "without fences", "Let each write carry"},
		{[]checker.Property{overrun(verdicts.ExclusiveUse), passed(verdicts.StoreIntegrity), passed(verdicts.FencingOrder)},
			"at 2 of 9 uses a client worked on after its lease had ended, and the store refused its late write by the fence.", "(as every lease:", "The data is whole"},
	} {
		r := results.Result{Verdict: checker.Fail, Lock: "token", Properties: row.properties}
		why, then := report.Inherent(r)
		if s := report.RunSentence(r, 0, nil); !strings.HasSuffix(s, row.sentence) || !strings.Contains(why, row.why) || !strings.Contains(then, row.further) {
			t.Errorf("%s\n%s\n%s", s, why, then)
		}
	}
}
