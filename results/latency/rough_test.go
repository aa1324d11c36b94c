package latency_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/results/latency"
)

// TestRoughQuantilesAreWithinAnEighth compares the live figures with the sorted samples, of two
// clients and of one operation among two.
func TestRoughQuantilesAreWithinAnEighth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64/2), 1, 200).Draw(t, "samples")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		a, b := latency.NewRecorder(), latency.NewRecorder()
		for i, v := range all {
			[]*latency.Recorder{a, b}[i%2].Record(latency.Acquire, 0, 0, v)
			a.Record(latency.Release, 0, 0, v/3)
		}
		slices.Sort(all)
		want := float64(all[max(int(q*float64(len(all))), 1)-1])
		got := float64(latency.Live(latency.Acquire, a, b).Quantile(q))
		if got > want || want-got > want/8 {
			t.Fatalf("quantile %g of %v: %v, want %v, at most an eighth less", q, all, got, want)
		}
	})
	if got := latency.Live(latency.Acquire).Quantile(0.5); got != 0 {
		t.Errorf("without samples: %v", got)
	}
	r := latency.NewRecorder()
	r.Record(latency.Acquire, 10, 0, 0) // a clock that ran backwards
	if got := latency.Live(latency.Acquire, r).Quantile(1); got != 0*time.Second {
		t.Errorf("of a negative sample: %v", got)
	}
}
