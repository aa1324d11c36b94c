package results_test

import (
	"math"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

func TestParseGate(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit float64
		least bool
		shown string
		wrong string // part of the error; "" wants none
	}{
		{"acquire.p99<=20ms", 20e6, false, "acquire.p99 <= 20ms", ""},   // a time
		{"acquire.p99 < 1.5s", 1.5e9, false, "acquire.p99 <= 1.5s", ""}, // spaces, and < for <=
		{"throughput>=500", 500, true, "throughput >= 500", ""},         // at least
		{"errors<=1%", 0.01, false, "errors <= 1%", ""},                 // percent of a share
		{"errors<=0.02", 0.02, false, "errors <= 0.02", ""},             // a share as it is
		// a percentile alone is that of acquires
		{"p99<20ms", 20e6, false, "acquire.p99 <= 20ms", ""},
		{"hand-over.trips.p50<=1.5", 1.5, false, "hand-over.trips.p50 <= 1.5", ""}, // round trips have no unit to write
		{"acquire.p99<=20", 0, false, "", "is a time"},                             // no unit
		{"throughput>=50%", 0, false, "", "not a share"},                           // throughput is not a share
		{"aquire.p99<=20ms", 0, false, "", `did you mean "acquire.p99"?`},          // a misspelt metric
		{"zzzzzzzzzz<=20ms", 0, false, "", "known are throughput"},                 // resembles no metric
		{"acquire.p99", 0, false, "", "want a metric, <= or >=, and a limit"},      // no limit at all
		{"throughput>=NaN", 0, false, "", "want a number"},                         // NaN is not a limit
		{"acquire.p99<=-5ms", 0, false, "", "is a time"},                           // a negative time
		{"throughput >= ", 0, false, "", "the limit of throughput is missing"},     // the limit was forgotten
		{" throughput >=500", 500, true, "throughput >= 500", ""},                  // stray spaces are ignored
		{"server-cpu<=50us", 50e3, false, "server-cpu <= 50us", ""},                // processor time is a time
		{"jain>=0.9", 0.9, true, "jain >= 0.9", ""},                                // a number
		{"acquire.p99.9<=1s", 1e9, false, "acquire.p99.9 <= 1s", ""},               // a percentile with a point
		{"acquire.p98<=1s", 0, false, "", `did you mean "acquire.p9`},              // not a reported percentile
		{"p99>3ms", 0, false, "", "of acquire.p99 less is better: want acquire.p99<=3ms"},
		{"throughput<=5", 0, false, "", "of throughput more is better: want throughput>=5"},
	} {
		g, err := results.ParseGate(tt.text)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%q: %v, want an error with %q", tt.text, err, tt.wrong)
			}
			continue
		}
		if err != nil || math.Abs(g.Limit-tt.limit) > 1e-9 || g.Least != tt.least || g.Text != tt.shown {
			t.Errorf("%q: %+v, %v", tt.text, g, err)
		}
	}
}

func TestGateCheck(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		text  string
		value *float64
		want  checker.Result
	}{
		{"acquire.p99<=20ms", at(20e6), checker.Pass},     // equal to the limit passes
		{"acquire.p99<=20ms", at(20e6 + 1), checker.Fail}, // beyond
		{"throughput>=500", at(500), checker.Pass},        // on the limit
		{"throughput>=500", at(499.9), checker.Fail},      // below
		{"throughput>=500", nil, checker.Inconclusive},    // without a value: inconclusive
		{"errors<=0%", at(0), checker.Pass},               // 0 % of 0
	} {
		g, err := results.ParseGate(tt.text)
		must(t, err)
		if got := g.Check(results.Figure{Value: tt.value, Samples: 3, Need: 5}); got.Verdict != tt.want || got.Gate != g.Text || tt.value == nil && got.Why != "3 of 5 samples needed" {
			t.Errorf("%s of %v: %+v, want %s", tt.text, tt.value, got, tt.want)
		}
	}
}

// The verdict of a bench depends only on cells that can show something about safety.
func TestJudgeABench(t *testing.T) {
	cell := func(clients int, v checker.Result) results.BenchCell {
		return results.BenchCell{Verdict: v, Setting: results.BenchSetting{Clients: clients}}
	}
	bare := results.BenchCell{Verdict: checker.Fail, Reference: true}
	empty := cell(1, checker.Inconclusive)
	empty.Figures = map[string]results.Figure{"throughput": {}}
	for _, row := range []struct {
		about string
		cells []results.BenchCell
		want  checker.Result
	}{
		{"one client has no hand-overs: figures only", []results.BenchCell{cell(1, checker.Inconclusive)}, checker.Pass},
		{"two without a hand-over", []results.BenchCell{cell(2, checker.Inconclusive)}, checker.Inconclusive},
		{"nothing was measured", []results.BenchCell{cell(1, checker.NotApplicable)}, checker.Inconclusive},
		{"no hold was measured in one cell of two", []results.BenchCell{empty, cell(8, checker.Pass)}, checker.Inconclusive},
		{"nor in that of the reference", []results.BenchCell{{Reference: true, Figures: empty.Figures}, cell(8, checker.Pass)}, checker.Inconclusive},
		{"one cell of two broke", []results.BenchCell{cell(8, checker.Pass), cell(8, checker.Fail)}, checker.Fail},
		{"a single client broke a property", []results.BenchCell{cell(1, checker.Fail)}, checker.Fail},
		{"the reference is not judged", []results.BenchCell{bare, cell(8, checker.Pass)}, checker.Pass},
	} {
		b := results.Bench{Cells: row.cells}
		if b.Judge(); b.Verdict != row.want {
			t.Errorf("%s: %s, want %s", row.about, b.Verdict, row.want)
		}
	}
	for verdict, want := range map[checker.Result]checker.Result{checker.Pass: checker.Inconclusive, checker.Fail: checker.Fail} {
		b := results.Bench{Cells: []results.BenchCell{cell(8, verdict)}, Interrupted: true}
		if b.Judge(); b.Verdict != want {
			t.Errorf("interrupted, %s so far: %s, want %s", verdict, b.Verdict, want)
		}
	}
}

// TestBenchVerdict: what broke comes first, then a limit that was missed, then what is not known.
func TestBenchVerdict(t *testing.T) {
	gates := func(all ...checker.Result) (out []results.GateResult) {
		for _, v := range all {
			out = append(out, results.GateResult{Verdict: v})
		}
		return out
	}
	for _, row := range []struct {
		about    string
		safety   checker.Result
		gates    []results.GateResult
		baseline results.CompareVerdict // "": none
		want     checker.Result
		broken   bool
	}{
		{"nothing to say", checker.Pass, nil, results.ComparePass, checker.Pass, false},
		{"slower", checker.Pass, nil, results.CompareSlower, checker.Fail, false},
		{"a gate, and one without a value", checker.Pass, gates(checker.Inconclusive, checker.Fail), "", checker.Fail, false},
		{"a gate without a value", checker.Pass, gates(checker.Pass, checker.Inconclusive), "", checker.Inconclusive, false},
		{"not comparable", checker.Pass, nil, results.CompareInconclusive, checker.Inconclusive, false},
		{"a gate, and not comparable", checker.Pass, gates(checker.Fail), results.CompareInconclusive, checker.Fail, false},
		{"slower, and perhaps unsafe", checker.Inconclusive, nil, results.CompareSlower, checker.Fail, false},
		{"unsafe", checker.Fail, nil, results.CompareInconclusive, checker.Fail, true},
		{"no longer safe", checker.Inconclusive, nil, results.CompareUnsafe, checker.Fail, true},
	} {
		b := results.Bench{Gates: row.gates, Cells: []results.BenchCell{{Setting: results.BenchSetting{Clients: 2}, Verdict: row.safety}}}
		if row.baseline != "" {
			b.Baseline = &results.Comparison{Verdict: row.baseline}
		}
		if b.Judge(); b.Verdict != row.want || b.Broken() != row.broken {
			t.Errorf("%s: %s, broken %t; want %s, %t", row.about, b.Verdict, b.Broken(), row.want, row.broken)
		}
	}
}
