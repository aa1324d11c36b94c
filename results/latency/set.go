package latency

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/history"
)

// The range of every histogram, in nanoseconds up to an hour, and its precision in decimal digits.
const (
	Lowest  = 1_000
	Highest = 3_600_000_000_000
	digits  = 3
)

// Tag names one series of a set.
type Tag struct {
	Op string
	// Service latencies are of the call alone. Others, the responses, count from the intended
	// start, with late starts of the generator and the queue before the call.
	Service bool
	Inside  bool // [intended start, return] overlaps a fault window
}

// Set is all series of a run that have samples.
type Set struct {
	series  map[Tag]*hdr.Histogram
	faults  []span
	dropped int64
}

// NewSet makes a set of a run that had these fault windows. An unconfirmed fault may have had no
// effect, so its samples belong outside.
func NewSet(windows []history.Window) *Set {
	var faults []span
	for _, w := range windows {
		if w.Confirmed {
			faults = append(faults, span{w.Start, w.Last()})
		}
	}
	return &Set{series: map[Tag]*hdr.Histogram{}, faults: union(faults)}
}

// Get returns a series; nil if it has no samples.
func (s *Set) Get(t Tag) *hdr.Histogram { return s.series[t] }

// Both returns the samples outside and inside the fault windows; nil if there are none.
func (s *Set) Both(op string, service bool) *hdr.Histogram {
	outside, inside := s.Get(Tag{op, service, false}), s.Get(Tag{op, service, true})
	if outside == nil || inside == nil {
		return cmp.Or(outside, inside)
	}
	all := hdr.New(Lowest, Highest, digits)
	all.Merge(outside) // of the same range: nothing is dropped
	all.Merge(inside)
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

// Dropped returns the number of samples that were out of range, below 0 or above Highest.
func (s *Set) Dropped() int64 { return s.dropped }

// Add adds a sample: intended start, call and return of an operation. In a closed loop intended
// equals call.
func (s *Set) Add(op string, intended, call, ret int64) {
	from := min(intended, call)
	i := sort.Search(len(s.faults), func(i int) bool { return s.faults[i].to >= from })
	inside := i < len(s.faults) && s.faults[i].from <= ret
	response := s.record(Tag{op, false, inside}, ret-intended)
	service := s.record(Tag{op, true, inside}, ret-call)
	if !response || !service {
		s.dropped++
	}
}

// record reports whether a value is within the range.
func (s *Set) record(t Tag, v int64) bool {
	h, ok := s.series[t]
	if !ok {
		h = hdr.New(Lowest, Highest, digits)
		s.series[t] = h
	}
	return v >= 0 && v <= Highest && h.RecordValue(v) == nil
}
