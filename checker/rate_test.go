package checker

import (
	"math"
	"testing"
)

func TestRateInterval(t *testing.T) {
	rows := []struct {
		k, n int
		want [2]float64
	}{
		{0, 0, [2]float64{0, 1}},                           // nothing is known
		{0, 48213, [2]float64{0, 6.2133e-5}},               // about 3/n
		{3, 412, [2]float64{0.001504, 0.021128}},           // the example of the result schema
		{10, 10, [2]float64{0.741134, 1}},                  // one-sided: 0.05^(1/10)
		{5, 10, [2]float64{0.187086, 0.812914}},            // as in every table
		{1, 1_000_000, [2]float64{2.5318e-8, 5.5716e-6}},   // Poisson: 0.025318 and 5.5716
		{7, 3, [2]float64{math.Exp(math.Log(.05) / 3), 1}}, // more violations than opportunities count as all
	}
	for _, r := range rows {
		got := rateInterval(r.k, r.n)
		for i := range got {
			if math.Abs(got[i]-r.want[i]) > 2e-4*max(r.want[i], 1e-9) {
				t.Errorf("%d of %d: got %v, want %v", r.k, r.n, got, r.want)
				break
			}
		}
	}
}

// TestLargeCounts: the library's fraction must converge where millions of operations were counted;
// the normal distribution is close there.
func TestLargeCounts(t *testing.T) {
	for _, n := range []int{100_000, 10_000_000, 1_000_000_000} {
		rate := 0.25
		got := rateInterval(int(rate*float64(n)), n)
		side := 1.959964 * math.Sqrt(rate*(1-rate)/float64(n))
		for i, want := range [2]float64{rate - side, rate + side} {
			if math.Abs(got[i]-want) > 0.01*side+1/float64(n) {
				t.Errorf("a quarter of %d: got %v, want about %v", n, got, want)
			}
		}
	}
}
