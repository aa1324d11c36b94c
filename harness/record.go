package harness

import (
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/workloads"
)

// record takes what one client does: its history, its latencies, and the counts for the progress line.
type record struct {
	*history.ClientRecorder
	latency *latency.Recorder
	counts  *counts
	lag     *lag
	warm    int64 // what was meant to start before is not measured
}

// newRecord makes the record of the client with an index.
func (d *drive) newRecord(index int) record {
	r := record{d.recorder.Client(workloads.ClientName(index)), latency.NewRecorder(), &d.counts, &lag{}, d.warm()}
	d.joining.Lock()
	defer d.joining.Unlock()
	d.latency, d.lags = append(d.latency, r.latency), append(d.lags, r.lag)
	return r
}

// lag is how late one client's rounds began. Only the client's own goroutine touches it while it runs.
type lag struct {
	starts, late, latest, total int64
}

// lateBy is the lag from which a start counts as late.
const lateBy = int64(time.Millisecond)

func (l *lag) add(by int64) {
	l.starts++
	l.total += max(by, 0)
	l.latest = max(l.latest, by)
	if by > lateBy {
		l.late++
	}
}

// counts are what the progress line shows. They are the only thing that clients share, and only three additions.
type counts struct{ granted, refused, unknown atomic.Int64 }

// Begin is not needed of a client in this process: when it dies, its calls still return.
func (r record) Begin(history.Operation) {}

// Add records an operation.
func (r record) Add(op history.Operation) {
	r.ClientRecorder.Add(op)
	if op.Op != history.Acquire {
		return
	}
	switch op.Outcome {
	case history.OK:
		r.counts.granted.Add(1)
	case history.Unknown:
		r.counts.unknown.Add(1)
	default:
		r.counts.refused.Add(1)
	}
}

// observe records the latency of an operation that had a definite end.
func (r record) observe(op history.Op, outcome history.Outcome, intended, call, ret int64) {
	if intended < r.warm {
		return
	}
	if op == history.Acquire {
		r.lag.add(call - intended)
	}
	if outcome == history.OK {
		r.latency.Record(op.String(), intended, call, ret)
	}
}
