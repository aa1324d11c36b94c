package results_test

import (
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// TestBenchVerdict: what broke comes first, then a limit that was missed, then what is not known.
func TestBenchVerdict(t *testing.T) {
	gate := func(v checker.Result) []results.GateResult { return []results.GateResult{{Verdict: v}} }
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
		{"a gate", checker.Pass, gate(checker.Fail), "", checker.Fail, false},
		{"a gate without a value", checker.Pass, gate(checker.Inconclusive), "", checker.Inconclusive, false},
		{"not comparable", checker.Pass, nil, results.CompareInconclusive, checker.Inconclusive, false},
		{"a gate, and not comparable", checker.Pass, gate(checker.Fail), results.CompareInconclusive, checker.Fail, false},
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
