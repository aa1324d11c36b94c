package bench

import (
	"slices"

	"github.com/lockbench/lockbench/results"
)

// limits are the least relative change that counts and the significance level that it needs.
type limits struct{ threshold, alpha float64 }

// row compares one metric. ok is false if neither side has it.
func row(at place, m results.Metric, base, now map[string]sample, over limits) (r results.ComparisonRow, ok bool) {
	a, hasA := base[m.Name]
	z, hasZ := now[m.Name]
	if !hasA && !hasZ {
		return r, false
	}
	r = results.ComparisonRow{Lock: at.lock, Setting: at.setting, Metric: m.Name, Unit: m.Unit,
		Base: a.figure, New: z.figure, N1: len(a.values), N2: len(z.values)}
	r.Base.Values, r.Base.Ratio, r.New.Values, r.New.Ratio = nil, nil, nil, nil // a row does not show them
	switch {
	case a.figure.Value == nil && z.figure.Value == nil:
		return r, false
	case z.figure.Value == nil:
		r.Mark = results.MarkOnlyBase
		return r, true
	case a.figure.Value == nil:
		r.Mark = results.MarkOnlyNew
		return r, true
	}
	before, after := median(a.values), median(z.values)
	if before != 0 {
		delta := after/before - 1
		r.Delta = &delta
	}
	same := slices.Equal(slices.Sorted(slices.Values(a.values)), slices.Sorted(slices.Values(z.values)))
	if least := leastSamples(over.alpha); min(r.N1, r.N2) < least && !same { // else more samples would not help
		r.Mark, r.Need = results.MarkFewer, least
		return r, true
	}
	p := different(a.values, z.values)
	r.P = &p
	r.Mark = over.mark(m, r.Delta, p, after)
	r.Worst = worst(m, a.values, z.values)
	shown := r.Mark == results.MarkWorse || r.Mark == results.MarkBetter || same
	if !shown && r.Worst != nil && *r.Worst > hiding*over.threshold {
		r.Mark = results.MarkHidden
	}
	return r, true
}

// confirm compares the ratio to the reference with the figure as measured. A lock that became
// slower is slower by both. If only the ratio says so, the reference became quicker: then the
// figure as measured decides, unless the machine became quicker, in which case nothing decides.
func confirm(r *results.ComparisonRow, base, now sample, drift, threshold float64) {
	m, _ := results.FindMetric(r.Metric)
	quicker := drift >= threshold
	if r.Mark == results.MarkWorse {
		change := *r.New.Value / *r.Base.Value - 1
		if (limits{threshold, 1}).mark(m, &change, 0, *r.New.Value) == results.MarkWorse {
			return
		}
		if !quicker {
			r.Mark, r.Relative, r.Delta = results.MarkSmall, false, &change
		} else if r.Worst != nil {
			r.Mark = results.MarkHidden
		}
		return
	}
	if r.Mark != results.MarkHidden || quicker {
		return
	}
	if least := worst(m, known(base.figure.Values), known(now.figure.Values)); least != nil && *least < *r.Worst {
		r.Worst = least
		if *least <= hiding*threshold {
			r.Mark = results.MarkNone
		}
	}
}

// hiding is how many times the threshold a change must be before a comparison that could miss it is
// inconclusive.
const hiding = 2

// worst returns the largest change for the worse that two samples do not exclude with a confidence
// of 95 %, as the relative increase of a time or, for a rate, of the time that it stands for; nil
// if the samples do not bound it.
func worst(m results.Metric, before, after []float64) *float64 {
	low, high, ok := shift(before, after)
	if !ok {
		return nil
	}
	if m.Higher {
		high = 1 / low
	}
	high--
	return &high
}

// mark returns the mark of a difference: none shown, too small to count, or better or worse beyond
// threshold and noise. A change from zero to anything exceeds every threshold.
func (l limits) mark(m results.Metric, delta *float64, p, after float64) string {
	if p > l.alpha {
		return results.MarkNone
	}
	change := 1.0
	if delta != nil {
		change = *delta
	} else if after == 0 {
		return results.MarkNone
	}
	// A rate that falls by a share s takes 1/(1-s) of the time; this gives the threshold the same
	// meaning for rates as for times.
	beyond := change >= l.threshold || change <= -l.threshold/(1+l.threshold)
	switch {
	case !beyond:
		return results.MarkSmall
	case change > 0 == m.Higher:
		return results.MarkBetter
	}
	return results.MarkWorse
}

// known returns the values that were measured.
func known(values []*float64) (out []float64) {
	for _, v := range values {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

func median(values []float64) float64 {
	v, _, _ := summary(values)
	if v == nil {
		return 0
	}
	return *v
}
