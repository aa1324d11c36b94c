package latency

import (
	"cmp"
	"maps"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram, in nanoseconds up to an hour, and its precision in decimal digits.
const (
	Lowest  = 1_000
	Highest = 3_600_000_000_000
	digits  = 3
)

// Series is one distribution: a histogram, and the samples outside its range.
type Series struct {
	Hist    *hdr.Histogram
	Dropped int64 // samples below 0 or above Highest
	Worst   int64 // the dropped sample furthest out of range, in nanoseconds; 0 if none
}

func newSeries() *Series { return &Series{Hist: hdr.New(Lowest, Highest, digits)} }

func (s *Series) add(v int64) {
	if v >= 0 && v <= Highest && s.Hist.RecordValue(v) == nil {
		return
	}
	s.drop(1, v)
}

// drop counts samples outside the range. Any value above it is worse than any below zero.
func (s *Series) drop(n, v int64) {
	s.Dropped += n
	if v > Highest && v > s.Worst || v < 0 && s.Worst <= 0 && v < s.Worst {
		s.Worst = v
	}
}

func (s *Series) merge(o *Series) {
	lost := s.Hist.Merge(o.Hist) // 0, because the ranges are equal
	if n := o.Dropped + lost; n > 0 {
		s.drop(n, o.Worst)
	}
}

// Tag names one series of a set.
type Tag struct {
	Op string
	// Service latencies are of the call alone. Others, the responses, count from the intended
	// start, with late starts of the generator and the queue before the call.
	Service bool
	Inside  bool // [intended start, return] overlaps a fault window
}

// Set is all series of a run that have samples.
type Set struct{ series map[Tag]*Series }

// NewSet returns an empty set.
func NewSet() *Set { return &Set{series: map[Tag]*Series{}} }

// Get returns a series; nil if it has no samples.
func (s *Set) Get(t Tag) *Series { return s.series[t] }

// Both returns the samples outside and inside the fault windows; nil if there are none.
func (s *Set) Both(op string, service bool) *Series {
	outside, inside := s.Get(Tag{op, service, false}), s.Get(Tag{op, service, true})
	if outside == nil || inside == nil {
		return cmp.Or(outside, inside)
	}
	all := newSeries()
	all.merge(outside)
	all.merge(inside)
	return all
}

// Ops returns the operations that have samples, sorted.
func (s *Set) Ops() []string {
	seen := map[string]bool{}
	for t := range s.series {
		seen[t.Op] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Dropped returns the number of dropped samples, each operation counted once.
func (s *Set) Dropped() int64 {
	var n int64
	for _, op := range s.Ops() {
		n += max(s.Both(op, false).Dropped, s.Both(op, true).Dropped) // both have every sample
	}
	return n
}

func (s *Set) add(op string, one sample, faults spans) {
	inside := faults.meet(min(one.intended, one.call), one.ret)
	s.at(Tag{op, false, inside}).add(one.ret - one.intended)
	s.at(Tag{op, true, inside}).add(one.ret - one.call)
}

func (s *Set) at(t Tag) *Series {
	one, ok := s.series[t]
	if !ok {
		one = newSeries()
		s.series[t] = one
	}
	return one
}
