package workloads

import (
	"math"
	"testing"
	"time"
)

// starts returns the starts of all clients before the end, unordered.
func starts(l OpenLoop, end time.Duration) (all []int64) {
	for c := range l.Clients {
		next := l.Starts(c)
		for n := 0; ; n++ {
			at := next(n)
			if at >= int64(end) {
				break
			}
			all = append(all, at)
		}
	}
	return all
}

func within(all []int64, from, to time.Duration) (n int) {
	for _, at := range all {
		if at >= int64(from) && at < int64(to) {
			n++
		}
	}
	return n
}

// TestPaces: every pace starts as many rounds as Offered returns, with the spacing that its name
// says.
func TestPaces(t *testing.T) {
	const s = time.Second
	for _, r := range []struct {
		pace       Pace
		in         [2]time.Duration
		want, slip float64 // rounds, and the tolerated difference
	}{
		{"", [2]time.Duration{0, 10 * s}, 5000, 0},              // constant by default
		{Constant, [2]time.Duration{4 * s, 5 * s}, 500, 0},      // the same in each second
		{Poisson, [2]time.Duration{0, 10 * s}, 5000, 350},       // five times the standard deviation, √5000
		{Poisson, [2]time.Duration{4 * s, 5 * s}, 500, 112},     // the same, √500
		{Ramp, [2]time.Duration{0, 10 * s}, 2500, 1},            // half of the rate over its time
		{Ramp, [2]time.Duration{0, 5 * s}, 625, 1},              // a quarter of those in the first half
		{Ramp, [2]time.Duration{9 * s, 10 * s}, 475, 1},         // nearly the rate at the end
		{Ramp, [2]time.Duration{10 * s, 20 * s}, 5000, 1},       // the rate stays
		{Ramp, [2]time.Duration{5 * s, 15 * s}, 1875 + 2500, 1}, // over the end of the ramp
	} {
		l := OpenLoop{Rate: 500, Pace: r.pace, Clients: 7, Time: 10 * s, Seed: 1}
		all := starts(l, 20*s)
		if got := float64(within(all, r.in[0], r.in[1])); math.Abs(got-r.want) > r.slip {
			t.Errorf("%s: %g rounds begin from %v to %v, want %g", r.pace, got, r.in[0], r.in[1], r.want)
		}
		if got := l.Offered(int64(r.in[0]), int64(r.in[1])) * (r.in[1] - r.in[0]).Seconds(); math.Abs(got-r.want) > 1e-6 {
			t.Errorf("%s: Offered comes to %g rounds from %v to %v, want %g", r.pace, got, r.in[0], r.in[1], r.want)
		}
	}
}

// TestPoissonGaps: the gaps of a Poisson process have a standard deviation that is their mean;
// those of another pace, at most half of it. One seed gives one plan, another seed another.
func TestPoissonGaps(t *testing.T) {
	l := OpenLoop{Rate: 100, Pace: Poisson, Clients: 1, Seed: 3}
	gaps := func(l OpenLoop) (mean, deviation float64) {
		const n = 10_000
		next, last := l.Starts(0), 0.0
		var sum, squares float64
		for i := range n {
			at := float64(next(i))
			sum, squares, last = sum+at-last, squares+(at-last)*(at-last), at
		}
		mean = sum / n
		return mean, math.Sqrt(squares/n - mean*mean)
	}
	if mean, deviation := gaps(l); math.Abs(deviation/mean-1) > 0.05 || math.Abs(mean/1e7-1) > 0.05 {
		t.Errorf("mean %g, standard deviation %g, want 1e7 both", mean, deviation)
	}
	same, other := l.Starts(0), OpenLoop{Rate: 100, Pace: Poisson, Clients: 1, Seed: 4}.Starts(0)
	next := l.Starts(0)
	for i := range 10 {
		if a, b, c := next(i), same(i), other(i); a != b || a == c {
			t.Fatalf("round %d begins at %d, with the same seed at %d, with another at %d", i, a, b, c)
		}
	}
}
