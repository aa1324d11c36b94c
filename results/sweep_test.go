package results_test

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

func TestSweepIsJudgedByItsWorstPoint(t *testing.T) {
	at := func(verdicts ...checker.Result) *results.Sweep {
		s := &results.Sweep{Asked: 3}
		for _, v := range verdicts {
			s.Points = append(s.Points, results.SweepPoint{Verdict: v, Notes: []string{"the same"}})
		}
		s.Judge()
		return s
	}
	for _, tt := range []struct {
		points []checker.Result
		want   checker.Result
	}{
		{nil, checker.Inconclusive}, // nothing was run
		{[]checker.Result{checker.Inconclusive}, checker.Inconclusive},
		{[]checker.Result{checker.Inconclusive, checker.Pass, checker.Pass}, checker.Pass},
		{[]checker.Result{checker.Pass, checker.Pass}, checker.Inconclusive}, // a size is missing: it was interrupted
		{[]checker.Result{checker.Pass, checker.Fail, checker.Pass}, checker.Fail},
	} {
		if got := at(tt.points...); got.Verdict != tt.want || len(got.Notes) > 1 {
			t.Errorf("%v: %s with %v, want %s", tt.points, got.Verdict, got.Notes, tt.want)
		}
	}
}

func TestSweepPointKeepsRatesWithoutStories(t *testing.T) {
	v := &checker.Verdict{Verdict: checker.Fail, Properties: []checker.Property{
		{Name: verdicts.ExclusiveUse, Verdict: checker.Fail, Violations: 3, Opportunities: 10, First: &checker.Violation{}},
		{Name: verdicts.Progress, Verdict: checker.Pass},
	}}
	p := results.NewSweepPoint("1 lease", 300, v)
	if len(p.Properties) != 1 || p.Properties[0].Violations != 3 || p.Properties[0].First != nil || v.Properties[0].First == nil {
		t.Errorf("%+v", p)
	}
	if !slices.Contains(results.SweptProperties(), verdicts.MutualExclusion) {
		t.Error("a sweep shows no mutual exclusion")
	}
}

// TestSweepJoinsNotes: notes that differ only in their numbers are one.
func TestSweepJoinsNotes(t *testing.T) {
	s := results.Sweep{Points: []results.SweepPoint{
		{Notes: []string{"14 schedules; 1 is kept", "c1 was late"}}, {Notes: []string{"9.5 schedules; 1 is kept", "c2 was late"}}, {Notes: []string{"10 schedules; 1 is kept"}},
	}}
	s.Judge()
	if want := []string{"9.5 to 14 schedules; 1 is kept", "c1 was late", "c2 was late"}; !slices.Equal(s.Notes, want) {
		t.Errorf("notes %q, want %q", s.Notes, want)
	}
}
