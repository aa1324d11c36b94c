package latency

import (
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

// Basis is the start of a latency.
type Basis string

// The bases. Response includes late starts of the generator and the queue before the call; Service
// is the call alone.
const (
	Response Basis = "response" // from the intended start
	Service  Basis = "service"  // from the call
)

// Place is whether [intended start, return] of a series' samples overlaps a fault window.
type Place string

// The places.
const (
	Outside Place = "outside"
	Inside  Place = "inside"
)

// Tag names one series of a set.
type Tag struct {
	Op    string
	Basis Basis
	Place Place
}

// Set is all series of a run that have samples.
type Set struct{ series map[Tag]*Series }

// NewSet returns an empty set.
func NewSet() *Set { return &Set{series: map[Tag]*Series{}} }

// Get returns a series.
func (s *Set) Get(t Tag) (*Series, bool) {
	one, ok := s.series[t]
	return one, ok
}

// Both returns the samples outside and inside the fault windows; nil if there are none.
func (s *Set) Both(op string, basis Basis) *Series {
	var all *Series
	for _, place := range []Place{Outside, Inside} {
		one, ok := s.series[Tag{op, basis, place}]
		if !ok {
			continue
		}
		if all == nil {
			all = newSeries()
		}
		all.merge(one)
	}
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
		n += max(s.Both(op, Response).Dropped, s.Both(op, Service).Dropped) // both have every sample
	}
	return n
}

func (s *Set) add(op string, one sample, faults spans) {
	place := Outside
	if faults.meet(min(one.intended, one.call), one.ret) {
		place = Inside
	}
	s.at(Tag{op, Response, place}).add(one.ret - one.intended)
	s.at(Tag{op, Service, place}).add(one.ret - one.call)
}

func (s *Set) at(t Tag) *Series {
	one, ok := s.series[t]
	if !ok {
		one = newSeries()
		s.series[t] = one
	}
	return one
}
