package harness

import (
	"sync/atomic"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results/latency"
)

// record takes what one client does: its history, its latencies, and the counts for the progress line.
type record struct {
	*history.ClientRecorder
	latency *latency.Recorder
	counts  *counts
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
	if outcome == history.OK {
		r.latency.Record(op.String(), intended, call, ret)
	}
}
