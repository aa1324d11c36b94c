package checker

import "math"

// rateInterval returns the 95 % Clopper–Pearson interval of a rate, for k violations in n
// opportunities: at its bounds, k or more and k or fewer violations have a probability of 2.5 %.
// For k = 0 and k = n the interval is one-sided, at 5 %; for k = 0 the upper bound is about 3/n. C.
// J. Clopper, E. S. Pearson: The use of confidence or fiducial limits, Biometrika 26 (1934).
func rateInterval(k, n int) [2]float64 {
	k = min(k, n)
	switch {
	case n == 0:
		return [2]float64{0, 1}
	case k == 0:
		return [2]float64{0, -math.Expm1(math.Log(0.05) / float64(n))}
	case k == n:
		return [2]float64{math.Exp(math.Log(0.05) / float64(n)), 1}
	}
	lower := betaQuantile(0.025, float64(k), float64(n-k+1))
	return [2]float64{lower, betaQuantile(0.975, float64(k+1), float64(n-k))}
}

// betaQuantile finds by bisection the point at which the regularised incomplete beta function is p.
func betaQuantile(p, a, b float64) float64 {
	low, high := 0.0, 1.0
	for high-low > 1e-12*high && high > 1e-300 {
		mid := (low + high) / 2
		if betaRegularised(mid, a, b) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// betaRegularised is I_x(a, b) (go-moremath has one that gives up after 200 steps, with a panic,
// from some 100,000 operations on), by the continued fraction of DLMF 8.17.22, which converges fast
// for x < (a+1)/(a+b+2); the other side follows from I_x(a, b) = 1 - I_{1-x}(b, a).
func betaRegularised(x, a, b float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) {
		return 1 - betaRegularised(1-x, b, a)
	}
	ga, _ := math.Lgamma(a)
	gb, _ := math.Lgamma(b)
	gab, _ := math.Lgamma(a + b)
	front := math.Exp(a*math.Log(x)+b*math.Log1p(-x)+gab-ga-gb) / a
	return front * betaFraction(x, a, b)
}

// betaFraction evaluates the continued fraction by the modified method of Lentz.
func betaFraction(x, a, b float64) float64 {
	const tiny, precision, steps = 1e-300, 1e-15, 10_000
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1), tiny)
	f := d
	for i := 1; i < steps; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / guard(1+even*d, tiny)
		c = guard(1+even/c, tiny)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / guard(1+odd*d, tiny)
		c = guard(1+odd/c, tiny)
		f *= d * c
		if math.Abs(d*c-1) < precision {
			break
		}
	}
	return f
}

func guard(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}
