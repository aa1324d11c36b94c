package judge_test

import (
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// TestOneVerdict: a violation, else a broken gate, else doubt, else a pass.
func TestOneVerdict(t *testing.T) {
	gate := func(text string) []results.Gate {
		g, err := results.ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		return []results.Gate{g}
	}
	broken, kept, unmeasured := gate("errors<=1%"), gate("errors<=50%"), gate("acquire.p99<=20ms")
	for _, row := range []struct {
		about        string
		properties   checker.Result
		end          judge.Ending
		want         checker.Result
		ofTheRecord  checker.Result
		wantedReason string
	}{
		{"nothing to say", checker.Pass, judge.Ending{Gates: kept, Doubts: []string{""}}, checker.Pass, checker.Pass, ""},
		{"a violation", checker.Fail, judge.Ending{Gates: broken, Doubts: []string{"few"}, Interrupted: true}, checker.Fail, checker.Fail, "few"},
		{"a broken gate", checker.Pass, judge.Ending{Gates: broken}, checker.Fail, checker.Pass, ""},
		{"a broken gate, and doubt", checker.Inconclusive, judge.Ending{Gates: broken, Doubts: []string{"few"}}, checker.Fail, checker.Inconclusive, "few"},
		{"the first doubt is kept", checker.Pass, judge.Ending{Gates: kept, Doubts: []string{"few", "slow"}}, checker.Inconclusive, checker.Inconclusive, "few"},
		{"a gate without a value", checker.Pass, judge.Ending{Gates: unmeasured}, checker.Inconclusive, checker.Pass, ""},
		{"interrupted", checker.Pass, judge.Ending{Interrupted: true}, checker.Inconclusive, checker.Pass, judge.Interrupted},
	} {
		v := &checker.Verdict{Verdict: row.properties, Operations: checker.Operations{"acquire": {"ok": 9, "fail": 1}}}
		r := results.NewResult(results.Run{}, *v)
		r.SetLatency(nil, results.NoLatency)
		judge.Conclude(&r, v, row.end)
		if r.Verdict != row.want || v.Verdict != row.ofTheRecord || r.Reason != row.wantedReason || len(r.Gates) != len(row.end.Gates) {
			t.Errorf("%s: %s because of %q, the record %s; want %s, %q, %s", row.about, r.Verdict, r.Reason, v.Verdict, row.want, row.wantedReason, row.ofTheRecord)
		}
	}
}

// TestWhatEveryLeaseBreaks: the headline of a run says so only if nothing else broke.
func TestWhatEveryLeaseBreaks(t *testing.T) {
	property := func(name verdicts.Property, v checker.Result, causes ...verdicts.Cause) checker.Property {
		p := checker.Property{Name: name, Verdict: v, Causes: map[verdicts.Cause]int{}}
		for _, c := range causes {
			p.Causes[c]++
		}
		return p
	}
	overrun := property(verdicts.ExclusiveUse, checker.Fail, verdicts.LeaseOverrun)
	for _, row := range []struct {
		about      string
		properties []checker.Property
		want       bool
	}{
		{"inside beyond the lease", []checker.Property{property(verdicts.MutualExclusion, checker.Pass), overrun}, true},
		{"and it wrote", []checker.Property{overrun, property(verdicts.StoreIntegrity, checker.Fail, verdicts.LeaseOverrun)}, true},
		{"two were told", []checker.Property{overrun, property(verdicts.MutualExclusion, checker.Fail, verdicts.LeaseOverrun)}, false},
		{"another cause, too", []checker.Property{property(verdicts.ExclusiveUse, checker.Fail, verdicts.LeaseOverrun, verdicts.MisUnlock)}, false},
		{"no cause is known", []checker.Property{property(verdicts.ExclusiveUse, checker.Fail)}, false},
		{"nothing broke", []checker.Property{property(verdicts.ExclusiveUse, checker.Pass)}, false},
	} {
		if got := (results.Result{Properties: row.properties}).OutlivedOnly(); got != row.want {
			t.Errorf("%s: %t", row.about, got)
		}
	}
}
