package latency_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/results/latency"
)

// TestLiveIsWithinAnEighth compares the live figures with the sorted samples, of two clients.
func TestLiveIsWithinAnEighth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, latency.Highest), 1, 200).Draw(t, "samples")
		percent := rapid.Float64Range(1, 100).Draw(t, "percent")
		a, b := &latency.Live{}, &latency.Live{}
		for i, v := range all {
			[]*latency.Live{a, b}[i%2].Record(v)
		}
		slices.Sort(all)
		rank := percent / 100 * float64(len(all)) // the library rounds it
		low, high := all[max(int(math.Floor(rank)), 1)-1], all[max(int(math.Ceil(rank)), 1)-1]
		got := latency.Waits(a, b).ValueAtPercentile(percent)
		if got < low || got > high+high/8+latency.Lowest {
			t.Fatalf("%g %% of %v: %v, want %v to %v, at most an eighth more", percent, all, got, low, high)
		}
	})
	r := &latency.Live{}
	r.Record(-10) // a clock that ran backwards
	if got := latency.Waits(r).ValueAtPercentile(100); got > latency.Lowest {
		t.Errorf("of a negative sample: %v", got)
	}
}
