package bench

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/lockbench/lockbench/results"
)

// confidence is the level of every interval.
const confidence = 0.95

// threeDigits rounds to three significant digits.
func threeDigits(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	return math.Round(v/unit) * unit
}

// summary is the median of the values with its 95 % interval, both from their order alone
// (benchmath.AssumeNothing: no distribution is assumed). low and high are nil when there are too
// few values for an interval, fewer than six; value is nil without any.
func summary(values []float64) (value, low, high *float64) {
	if len(values) == 0 {
		return nil, nil, nil
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), confidence)
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		low, high = &s.Lo, &s.Hi
	}
	return &s.Center, low, high
}

// leastForInterval is the number of repetitions that an interval needs.
const leastForInterval = 6

// ratio divides each value by the reference's of the same repetition, and summarises. It returns
// nil if no repetition has both.
func ratio(values, reference []*float64) *results.Ratio {
	var ratios []float64
	for i := range min(len(values), len(reference)) {
		if values[i] != nil && reference[i] != nil && *reference[i] > 0 {
			ratios = append(ratios, *values[i] / *reference[i])
		}
	}
	center, low, high := summary(ratios)
	if center == nil {
		return nil
	}
	return &results.Ratio{Value: *center, Low: low, High: high, Differs: low != nil && (*low > 1 || *high < 1)}
}

// different returns the two-sided p-value of the Mann-Whitney U test: how likely samples of one
// distribution differ as much; 1 if not computable.
func different(a, b []float64) float64 {
	t := &benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), t), benchmath.NewSample(slices.Clone(b), t)).P
}

// shift bounds the factor by which b differs from a, each side with a confidence of 95 %: the
// interval of Hodges and Lehmann (1963), from the order of all pairs' ratios, in the normal
// approximation of the Mann-Whitney U. ok is false if a value is not positive or there are too few
// pairs.
func shift(a, b []float64) (low, high float64, ok bool) {
	var ratios []float64
	for _, x := range a {
		for _, y := range b {
			if x <= 0 || y <= 0 {
				return 0, 0, false
			}
			ratios = append(ratios, y/x)
		}
	}
	slices.Sort(ratios)
	z := math.Sqrt2 * math.Erfinv(2*confidence-1)
	pairs := float64(len(ratios))
	k := int(pairs/2 - z*math.Sqrt(pairs*float64(len(a)+len(b)+1)/12))
	if k < 1 {
		return 0, 0, false
	}
	return ratios[k-1], ratios[len(ratios)-k], true
}

// leastSamples returns how many samples a side needs for a p-value of at most alpha: with n on each
// side the least is 2·(n!)²/(2n)!.
func leastSamples(alpha float64) int {
	p := 2.0
	for n := 1; ; n++ {
		p *= float64(n) / float64(2*(2*n-1)) // (n!)²/(2n)! from that of n-1
		if p <= alpha {
			return n
		}
	}
}

// quantile returns the smallest value that at least a share q of the sorted values does not exceed.
func quantile[T int64 | float64](sorted []T, q float64) T {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
