package bench

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// moments is how many parts of the measured time a cell has over time.
const moments = 30

// shape is what the pages draw of a turn: the waits for the lock, all of them and over time, and
// the faults that were in force. Times count from the begin of the measured time.
type shape struct {
	waits  *hdr.Histogram
	over   [moments]*hdr.Histogram
	faults []results.BenchFault
}

// shapeOf collects the waits of one turn from their intended start, as [measuring.waits] does.
func shapeOf(s slice) *shape {
	if s.To <= s.From {
		return nil
	}
	out := &shape{waits: newHistogram()}
	for op, start := range s.acquires() {
		if !op.Granted() {
			continue
		}
		wait := min(op.Return-start, latency.Highest)
		_ = out.waits.RecordValue(wait) // clamped, so in range
		part := min(max(op.Return-s.From, 0)*moments/(s.To-s.From), moments-1)
		if out.over[part] == nil {
			out.over[part] = newHistogram()
		}
		_ = out.over[part].RecordValue(wait)
	}
	for _, w := range s.Windows {
		if w.Confirmed && w.Start < s.To && w.Last() > s.From {
			out.faults = append(out.faults, results.BenchFault{Fault: w.Label(), From: max(w.Start-s.From, 0), To: min(w.Last(), s.To) - s.From})
		}
	}
	return out
}

// newHistogram has two digits, which are enough for a line.
func newHistogram() *hdr.Histogram { return hdr.New(latency.Lowest, latency.Highest, 2) }

// addShapes sets a cell's spectrum and its waits over time, over all repetitions. Faults are those
// of the first repetition that had any.
func addShapes(c *results.BenchCell, turns []taken, length int64) {
	all, over := newHistogram(), [moments]*hdr.Histogram{}
	for _, t := range turns {
		if t.Shape == nil {
			continue
		}
		all.Merge(t.Shape.waits)
		for i, h := range t.Shape.over {
			if h == nil {
				continue
			}
			if over[i] == nil {
				over[i] = newHistogram()
			}
			over[i].Merge(h)
		}
		if len(c.Faults) == 0 {
			c.Faults = t.Shape.faults
		}
	}
	c.Spectrum = latency.Spectrum(all)
	for i, h := range over {
		if h == nil {
			continue
		}
		m := results.BenchMoment{At: (2*int64(i) + 1) * length / (2 * moments), Samples: h.TotalCount()}
		m.P50 = percentileOf(h, "p50", 50)
		m.P99 = percentileOf(h, "p99", 99)
		c.Over = append(c.Over, m)
	}
}

// percentileOf returns a percentile; 0 if there are fewer samples than it needs.
func percentileOf(h *hdr.Histogram, name string, p float64) int64 {
	if _, need, _ := results.Quantile(name); h.TotalCount() < need {
		return 0
	}
	return h.ValueAtPercentile(p)
}
