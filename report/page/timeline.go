package page

import (
	"cmp"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// maxBuckets is the most points of a line over time.
const maxBuckets = 240

// timeline counts operations over time in buckets whose width grows with the run: beyond
// maxBuckets, it joins them in pairs.
type timeline struct {
	width   int64 // nanoseconds
	buckets map[int64]*bucket
	low     int64 // number of the first bucket
	high    int64
}

// bucket counts the operations that ended in one interval.
type bucket struct {
	granted, refused, failed, unknown int64
	acquire                           *hdr.Histogram // nil: none; nanoseconds from the call
}

func (t *timeline) double() {
	t.width *= 2
	old := t.buckets
	t.buckets = make(map[int64]*bucket, len(old))
	t.low, t.high = floorDiv(t.low, 2), floorDiv(t.high, 2)
	for n, b := range old {
		one := t.buckets[floorDiv(n, 2)]
		if one == nil {
			t.buckets[floorDiv(n, 2)] = b
			continue
		}
		one.granted, one.refused = one.granted+b.granted, one.refused+b.refused
		one.failed, one.unknown = one.failed+b.failed, one.unknown+b.unknown
		one.acquire = joinHistograms(one.acquire, b.acquire)
	}
}

// The buckets have enough grants, on average, to show a rate and percentiles, unless the line would
// have fewer than leastBuckets points.
const (
	enough       = 20
	leastBuckets = 12
)

// widen joins buckets until there are enough grants in each.
func (t *timeline) widen() {
	var granted int64
	for _, b := range t.buckets {
		granted += b.granted
	}
	for n := t.high - t.low + 1; n >= 2*leastBuckets && granted < enough*n; n = t.high - t.low + 1 {
		t.double()
	}
}

func floorDiv(a, b int64) int64 { return int64(math.Floor(float64(a) / float64(b))) }

func joinHistograms(a, b *hdr.Histogram) *hdr.Histogram {
	if a == nil {
		return b
	}
	if b != nil {
		a.Merge(b) // of the same range: nothing is dropped
	}
	return a
}

// take counts an operation in the bucket of its return. It joins buckets as long as there are more
// than maxBuckets.
func (t *timeline) take(op *history.Operation) {
	if op.Op == history.Use || op.Op == history.Write || op.Op == history.Lost {
		return
	}
	n := floorDiv(op.Return, t.width)
	if len(t.buckets) == 0 {
		t.low, t.high = n, n
	}
	for max(t.high, n)-min(t.low, n) >= maxBuckets {
		t.double()
		n = floorDiv(op.Return, t.width)
	}
	t.low, t.high = min(t.low, n), max(t.high, n)
	b := t.buckets[n]
	if b == nil {
		b = &bucket{}
		t.buckets[n] = b
	}
	switch {
	case op.Outcome == history.Unknown:
		b.unknown++
	case op.Outcome == history.Fail:
		b.failed++
	case op.Op == history.Acquire && op.Outcome == history.OK:
		b.granted++
		if b.acquire == nil { // two digits are enough for a line, and keep a bucket small
			b.acquire = hdr.New(latency.Lowest, latency.Highest, 2)
		}
		// clamped, so in range; the decoder rejects negative ones
		_ = b.acquire.RecordValue(min(op.Return-op.Call, latency.Highest))
	case op.Op == history.Acquire:
		b.refused++
	}
}

// line returns the points of a line, in order of time.
func (t *timeline) line(name, class string, value func(*bucket) (float64, bool)) series {
	s := series{Name: name, Cls: class, Points: [][]float64{}}
	for n := t.low; n <= t.high; n++ {
		if v, ok := value(cmp.Or(t.buckets[n], &bucket{})); ok {
			s.Points = append(s.Points, []float64{(float64(n) + .5) * float64(t.width), v})
		}
	}
	return s
}

// quantile returns a percentile of the waits in a bucket that has the samples for it.
func quantile(name string) func(*bucket) (float64, bool) {
	return func(b *bucket) (float64, bool) {
		v, enough := percentile(b.acquire, name)
		return float64(v), enough
	}
}

// percentile returns a percentile of a histogram, and whether it has the samples for it.
func percentile(h *hdr.Histogram, name string) (int64, bool) {
	q, need, _ := results.Quantile(name)
	if h == nil || h.TotalCount() < need {
		return 0, false
	}
	return h.ValueAtPercentile(100 * q), true
}

// longest returns the longest wait in a bucket.
func longest(b *bucket) (float64, bool) {
	if b.acquire == nil {
		return 0, false
	}
	return float64(b.acquire.Max()), true
}

// rate converts a count of a bucket to a rate per second.
func (t *timeline) rate(of func(*bucket) int64) func(*bucket) (float64, bool) {
	return func(b *bucket) (float64, bool) { return float64(of(b)) * 1e9 / float64(t.width), true }
}
