package report_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

func figure(unit results.Unit, value, ratio float64, differs bool) results.Figure {
	at := func(share float64) *float64 { v := value * share; return &v }
	return results.Figure{Unit: unit, Value: at(1), Low: at(.9), High: at(1.1), Samples: 5000, Ratio: &results.Ratio{Value: ratio, Low: at(0), High: at(0), Differs: differs}}
}

// aBench has a lock that holds, one that admits two, too few samples, gates that are missed and
// kept, and a quicker baseline.
func aBench() results.Bench {
	b := results.Bench{Server: "process", Seed: 7, Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Duration: 107 * time.Second, Rerun: "lockbench bench --locks token,exists-set --seed 7",
		Nodes: []history.Server{{Version: "7.0.15"}}, Environment: results.Environment{CPUs: 2}, RoundTrip: figure(results.Nanoseconds, 42e3, 1, false), Notes: []string{"a note"},
		Plan: results.BenchPlan{Locks: []string{"bare", "token", "exists-set"}, Reference: "bare", Repetitions: 10, Measure: time.Second, Lease: 30 * time.Second, Settings: []results.BenchSetting{{Clients: 8, Keys: 1}}}}
	for i, lock := range b.Plan.Locks {
		slower := float64(i + 1)
		c := results.BenchCell{Lock: lock, Reference: i == 0, Setting: b.Plan.Settings[0], Verdict: checker.Pass, Figures: map[string]results.Figure{
			"throughput":  figure(results.PerSecond, 9000/slower, 1/slower, i == 1),
			"acquire.p50": figure(results.Nanoseconds, 1e5*slower, slower, true), "acquire.p99": {Unit: results.Nanoseconds, Samples: 40, Need: 1000},
			"requests": figure(results.PerHold, 2*slower, slower, true), "jain": figure(results.Number, 0.75, 1, false),
			"client-cpu": figure(results.Nanoseconds, 2e4, 1, false), "hand-over.p50": figure(results.Nanoseconds, 2e5, 1, false)}}
		b.Cells = append(b.Cells, c)
	}
	unsafe := &b.Cells[2]
	unsafe.Verdict = checker.Fail
	unsafe.Breaks = []results.BenchBreak{{Property: verdicts.MutualExclusion, Violations: 3, Causes: map[verdicts.Cause]int{verdicts.DoubleGrant: 3}, Story: []string{"c1 and c2 both held \"job\"", "c1 was granted it", "c2 was granted it"}}}
	limit := 5e4
	b.Gates = []results.GateResult{{Gate: "acquire.p50 <= 50µs", Metric: "acquire.p50", Lock: "token", Setting: "8 clients", Limit: limit, Value: b.Cells[1].Figures["acquire.p50"].Value, Unit: results.Nanoseconds, Verdict: checker.Fail}}
	delta, p := -0.25, 0.001
	b.Baseline = &results.Comparison{Schema: results.CompareSchema, Kind: "benches", Base: "base.json", New: "this bench", Verdict: results.CompareSlower, Threshold: 0.1, Alpha: 0.0025, Changes: []results.Change{},
		Rows: []results.ComparisonRow{{Lock: "token", Setting: "8 clients", Metric: "throughput", Unit: results.PerSecond, Base: figure(results.PerSecond, 6000, 1, false), New: b.Cells[1].Figures["throughput"],
			N1: 10, N2: 10, Delta: &delta, P: &p, Mark: results.MarkWorse, Gated: true, Relative: true}}}
	b.Judge()
	return b
}

// TestBenchHeadFits: the head and the gates of a bench, and the gates of a run, fit a terminal of
// 80 columns.
func TestBenchHeadFits(t *testing.T) {
	b := aBench()
	b.Verdict, b.Server, b.Seed = checker.Inconclusive, "process", 1234567890123456789
	why := "not measured: no latency figures in virtual time; real servers have them"
	b.Gates = []results.GateResult{{Gate: "acquire.p99 <= 1ns", Lock: "redislock-normalised", Setting: "32 clients", Why: why, Verdict: checker.Inconclusive}}
	run := passing()
	run.Gates = []results.GateResult{{Gate: "acquire.p99 <= 1ns", Why: why, Verdict: checker.Inconclusive}}
	for name, shown := range map[string]string{
		"bench": text(t, func(w *strings.Builder) error { return report.Bench(w, b, report.Kept{}, report.Style{}) }),
		"run":   text(t, func(w *strings.Builder) error { return report.Run(w, run, report.Kept{}, report.Style{}) }),
	} {
		for line := range strings.Lines(shown) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), why) {
			t.Errorf("%s does not say why:\n%s", name, shown)
		}
	}
	if shown := text(t, func(w *strings.Builder) error { return report.Bench(w, b, report.Kept{}, report.Style{}) }); !strings.HasPrefix(shown, "INCONCLUSIVE  2 locks and the bare loop × 1 setting") {
		t.Errorf("%s", shown)
	}
}

// TestBenchAnswer: the answer names the quickest lock and by how much, no difference that the
// repetitions do not show, and that a quick lock lets a client wait long.
func TestBenchAnswer(t *testing.T) {
	measured := func(unit results.Unit, values ...float64) results.Figure {
		f := results.Figure{Unit: unit, Value: &values[0]}
		for i := range 8 {
			f.Values = append(f.Values, &values[i%len(values)])
		}
		return f
	}
	lock := func(name string, rate, longest results.Figure) results.BenchCell {
		return results.BenchCell{Lock: name, Setting: results.BenchSetting{Clients: 8, Keys: 1},
			Figures: map[string]results.Figure{"throughput": rate, "longest-wait": longest, "requests": measured(results.PerHold, 2)}}
	}
	rate := func(values ...float64) results.Figure { return measured(results.PerSecond, values...) }
	wait := func(values ...float64) results.Figure { return measured(results.Nanoseconds, values...) }
	broken := lock("other", rate(1000), wait(1))
	broken.Breaks = []results.BenchBreak{{Violations: 1}}
	for _, row := range []struct {
		why, want string
		other     results.BenchCell
	}{
		{"faster, and fair", "With 8 clients, quick makes 4× the holds per second of other at 1× the requests.", lock("other", rate(100), wait(10))},
		{"faster, and unfair", "With 8 clients, quick makes 4× the holds per second of other at 1× the requests. But its longest wait is 5× that of other.",
			lock("other", rate(100), wait(2))},
		{"the other one broke", "", broken},
		{"now quicker, now slower", "With 8 clients, the repetitions show no difference between quick and other.", lock("other", rate(300, 500), wait(2))},
	} {
		if got := report.BenchAnswer(results.Bench{Cells: []results.BenchCell{lock("quick", rate(400), wait(10)), row.other}}); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}
