package latency_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/results/latency"
)

// TestLiveIsWithinAnEighth compares the live figures with the sorted samples, of two clients and of
// one operation among two.
func TestLiveIsWithinAnEighth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, latency.Highest), 1, 200).Draw(t, "samples")
		percent := rapid.Float64Range(1, 100).Draw(t, "percent")
		a, b := &latency.Recorder{}, &latency.Recorder{}
		for i, v := range all {
			[]*latency.Recorder{a, b}[i%2].Record(latency.Acquire, 0, 0, v)
			a.Record(latency.Release, 0, 0, v/3)
		}
		slices.Sort(all)
		rank := percent / 100 * float64(len(all)) // the library rounds it
		low, high := all[max(int(math.Floor(rank)), 1)-1], all[max(int(math.Ceil(rank)), 1)-1]
		got := latency.Live(latency.Acquire, a, b).ValueAtPercentile(percent)
		if got < low || got > high+high/8+latency.Lowest {
			t.Fatalf("%g %% of %v: %v, want %v to %v, at most an eighth more", percent, all, got, low, high)
		}
	})
	r := &latency.Recorder{}
	r.Record(latency.Acquire, 10, 0, 0) // a clock that ran backwards
	if got := latency.Live(latency.Acquire, r).ValueAtPercentile(100); got > latency.Lowest {
		t.Errorf("of a negative sample: %v", got)
	}
}
