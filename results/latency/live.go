package latency

import (
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The reported operations.
const (
	Acquire  = "acquire"
	Release  = "release"
	Extend   = "extend"
	HandOver = "hand-over" // from the call of a release to the return of the next grant of a waiting client
)

// Live has one client's waits so far, for the progress line. The zero value is ready for use.
type Live struct {
	mu    sync.Mutex // the client against who shows its progress
	waits *hdr.Histogram
}

// liveDigits is the precision of the live display, to within a tenth. Results come from the record.
const liveDigits = 1

// Record adds a wait.
func (l *Live) Record(wait int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits == nil {
		l.waits = hdr.New(Lowest, Highest, liveDigits)
	}
	_ = l.waits.RecordValue(min(max(wait, 0), Highest)) // clamped, so in range
}

// Waits returns the waits of several clients so far. It may be called while they record.
func Waits(clients ...*Live) *hdr.Histogram {
	all := hdr.New(Lowest, Highest, liveDigits)
	for _, l := range clients {
		l.mu.Lock()
		if l.waits != nil {
			all.Merge(l.waits)
		}
		l.mu.Unlock()
	}
	return all
}
