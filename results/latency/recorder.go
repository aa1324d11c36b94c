package latency

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/history"
)

// The operations whose latency is reported. A harness may record others; they are exported under their names.
const (
	Acquire  = "acquire"
	Release  = "release"
	Extend   = "extend"
	HandOver = "hand-over" // from the call of a release to the return of the grant that a waiting client got next
)

// Recorder collects the samples of one client. Its methods may be called from the client's goroutine and from what its
// lock runs in the background.
type Recorder struct {
	mu   sync.Mutex // the client's goroutine against its watchdog's
	ops  []string   // names by the number that stands for them in packed
	live []*Rough   // by the same number
	last int64      // return of the latest sample
	// packed holds, for each sample: op number, return less the return before it, return less intended start, and
	// call less intended start, as varints. It is kept in chunks, so that it grows without being copied.
	packed [][]byte
	filed  *Set // what Fold has already filed
}

// chunkSize is the size of a chunk in bytes; maxSample is the most that one sample takes.
const (
	chunkSize = 64 << 10
	maxSample = 4 * binary.MaxVarintLen64
)

// NewRecorder makes the recorder of one client.
func NewRecorder() *Recorder { return &Recorder{filed: NewSet()} }

// Record adds a sample: when the operation was meant to start, when it was called, when it returned. A closed loop passes
// call as intended.
func (r *Recorder) Record(op string, intended, call, ret int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := slices.Index(r.ops, op)
	if n < 0 {
		n = len(r.ops)
		r.ops, r.live = append(r.ops, op), append(r.live, &Rough{})
	}
	r.live[n].add(ret - intended)
	r.put(uint64(n), intended, call, ret)
}

func (r *Recorder) put(op uint64, intended, call, ret int64) {
	if n := len(r.packed); n == 0 || cap(r.packed[n-1])-len(r.packed[n-1]) < maxSample {
		r.packed = append(r.packed, make([]byte, 0, chunkSize))
	}
	end := &r.packed[len(r.packed)-1]
	b := binary.AppendUvarint(*end, op)
	b = binary.AppendVarint(b, ret-r.last)
	b = binary.AppendVarint(b, ret-intended)
	b = binary.AppendVarint(b, call-intended)
	*end, r.last = b, ret
}

// Fold files the samples that returned before an instant and frees their space. The windows must be all those that
// began before it; a window that is still open (End 0) reaches to the end of time.
func (r *Recorder) Fold(windows []history.Window, before int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fold(newSpans(windows), before)
}

func (r *Recorder) fold(faults spans, before int64) {
	old := r.packed
	r.packed, r.last = nil, 0
	each(old, func(op uint64, s sample) {
		if s.ret >= before {
			r.put(op, s.intended, s.call, s.ret)
			return
		}
		r.filed.add(r.ops[op], s, faults)
	})
}

// sample is one measured call.
type sample struct{ intended, call, ret int64 }

// each unpacks samples in the order in which they were recorded.
func each(packed [][]byte, do func(op uint64, s sample)) {
	var last int64
	for _, chunk := range packed {
		for len(chunk) > 0 {
			op, n := binary.Uvarint(chunk)
			chunk = chunk[n:]
			var v [3]int64
			for i := range v {
				v[i], n = binary.Varint(chunk)
				chunk = chunk[n:]
			}
			last += v[0]
			intended := last - v[1]
			do(op, sample{intended: intended, call: intended + v[2], ret: last})
		}
	}
}

// Merge files every sample of every recorder and returns the whole. The recorders are empty afterwards.
func Merge(windows []history.Window, recorders ...*Recorder) *Set {
	all, faults := NewSet(), newSpans(windows)
	for _, r := range recorders {
		all.take(r, faults)
	}
	return all
}

// take files straight into the whole: a set per client would be several megabytes each, most of it zeros.
func (s *Set) take(r *Recorder, faults spans) {
	r.mu.Lock()
	defer r.mu.Unlock()
	each(r.packed, func(op uint64, one sample) { s.add(r.ops[op], one, faults) })
	s.merge(r.filed)
	r.packed, r.last, r.filed = nil, 0, NewSet()
}
