package report_test

import (
	"testing"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

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
