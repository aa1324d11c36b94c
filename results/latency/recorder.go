package latency

import (
	"encoding/binary"
	"slices"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/history"
)

// The reported operations. Others can be recorded under their names.
const (
	Acquire  = "acquire"
	Release  = "release"
	Extend   = "extend"
	HandOver = "hand-over" // from the call of a release to the return of the next grant of a waiting client
)

// Recorder collects the samples of one client. It is safe for concurrent use by the client and its
// lock's background goroutines. The zero value is ready for use.
type Recorder struct {
	mu   sync.Mutex       // the client's goroutine against its watchdog's
	ops  []string         // names by their number in packed
	live []*hdr.Histogram // by the same number, of response times
	last int64            // return of the latest sample
	// packed has, for each sample, as varints: op number, return - previous return, return -
	// intended start, call - intended start. Chunks avoid copies.
	packed [][]byte
}

const (
	chunkSize = 64 << 10                  // bytes
	maxSample = 4 * binary.MaxVarintLen64 // bytes
)

// Record adds a sample: intended start, call and return of an operation. In a closed loop intended
// equals call.
func (r *Recorder) Record(op string, intended, call, ret int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := slices.Index(r.ops, op)
	if n < 0 {
		n = len(r.ops)
		r.ops, r.live = append(r.ops, op), append(r.live, hdr.New(Lowest, Highest, liveDigits))
	}
	_ = r.live[n].RecordValue(min(max(ret-intended, 0), Highest)) // clamped, so in range
	if last := len(r.packed) - 1; last < 0 || cap(r.packed[last])-len(r.packed[last]) < maxSample {
		r.packed = append(r.packed, make([]byte, 0, chunkSize))
	}
	end := &r.packed[len(r.packed)-1]
	b := binary.AppendUvarint(*end, uint64(n))
	b = binary.AppendVarint(b, ret-r.last)
	b = binary.AppendVarint(b, ret-intended)
	b = binary.AppendVarint(b, call-intended)
	*end, r.last = b, ret
}

// liveDigits is the precision of the live display, to within a tenth. Results come from the samples.
const liveDigits = 1

// Live returns the response times of one operation so far. It may be called while clients record.
func Live(op string, recorders ...*Recorder) *hdr.Histogram {
	all := hdr.New(Lowest, Highest, liveDigits)
	for _, r := range recorders {
		r.mu.Lock()
		if n := slices.Index(r.ops, op); n >= 0 {
			all.Merge(r.live[n])
		}
		r.mu.Unlock()
	}
	return all
}

// sample is one measured call.
type sample struct{ intended, call, ret int64 }

// each unpacks samples in the order of their recording.
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

// Merge returns the histograms of all samples, and empties the recorders. It has one set for all:
// each is several megabytes. An unconfirmed fault may have had no effect, so its samples belong
// outside.
func Merge(windows []history.Window, recorders ...*Recorder) *Set {
	var faults spans
	for _, w := range windows {
		if w.Confirmed {
			faults = append(faults, span{w.Start, w.Last()})
		}
	}
	all := &Set{series: map[Tag]*hdr.Histogram{}}
	faults = faults.union()
	for _, r := range recorders {
		r.mu.Lock()
		each(r.packed, func(op uint64, one sample) { all.add(r.ops[op], one, faults) })
		r.packed, r.last = nil, 0
		r.mu.Unlock()
	}
	return all
}
