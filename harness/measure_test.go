package harness

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
)

// TestLatenciesCountFromThePlan: in an open loop a wait begins when its acquire was to begin, and
// how late it was called is told; what began in the warm-up counts for nothing.
func TestLatenciesCountFromThePlan(t *testing.T) {
	const ms = int64(time.Millisecond)
	d := &serverDriver{Experiment: Experiment{Scenario: scenarios.Scenario{WarmUp: faults.Span{Fixed: 10 * time.Millisecond}}},
		records: []*clientRecord{{name: "c1", intended: []int64{5 * ms, 20 * ms, 40 * ms}}, {name: "c2"}}}
	var rec record
	for _, o := range []struct {
		client    string
		op        history.Op
		call, ret int64 // milliseconds
		outcome   history.Outcome
	}{
		{"c1", history.Acquire, 5, 12, history.OK},
		{"c1", history.Release, 15, 16, history.OK},
		{"c1", history.Acquire, 30, 31, history.OK}, // 10 ms late
		{"c1", history.Use, 31, 39, history.OK},
		{"c1", history.Acquire, 40, 44, history.Busy},
		{"c2", history.Acquire, 50, 53, history.OK},
	} {
		rec.Ops = append(rec.Ops, history.Operation{Client: o.client, Op: o.op, Key: "job", Call: o.call * ms, Return: o.ret * ms, Outcome: o.outcome})
	}
	var r results.Result
	set, lag := d.latencies(&r.Health, &rec)
	if want := (results.Health{Starts: 3, LateStarts: 1, MaxLag: 10 * time.Millisecond}); r.Health != want || lag != 10*ms {
		t.Errorf("%+v, lag %v; want %+v and 10ms", r.Health, time.Duration(lag), want)
	}
	r.SetLatency(set, "")
	for name, want := range map[string][2]int64{"acquire": {11, 3}, "release": {1, 1}} {
		got := r.Latency[name]
		if response, service := (got.Response.Max+ms/2)/ms, (got.Service.Max+ms/2)/ms; response != want[0] || service != want[1] {
			t.Errorf("%s: response %d ms, service %d ms; want %v", name, response, service, want)
		}
	}
	if len(r.Latency) != 2 || r.Latency["acquire"].Response.Count != 2 {
		t.Errorf("latencies %+v", r.Latency)
	}
}
