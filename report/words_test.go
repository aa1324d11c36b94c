package report_test

import (
	"testing"

	"github.com/lockbench/lockbench/report"
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
