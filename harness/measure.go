package harness

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// measure fills in the load and the health of the run and returns its latencies.
func (d *serverDriver) measure(r *results.Result, rec *record) *latency.Set {
	set, lag := d.latencies(&r.Health, rec)
	wait := latency.SplitWait(rec.Ops, rec.Commands, d.header().Lease, lag)
	r.Wait = &wait
	r.SetLatency(set, "")
	r.Load = d.load(rec.Ops)
	var pauses debug.GCStats // of this process, as far as the runtime remembers
	debug.ReadGCStats(&pauses)
	for i, end := range pauses.PauseEnd {
		if i < len(pauses.Pause) && end.After(d.base) {
			r.Health.GCMax = max(r.Health.GCMax, pauses.Pause[i])
		}
	}
	r.Health.MaxStall = max(d.stall, slowestReply(rec.Commands, rec.Windows))
	r.Health.Stalled = r.Health.MaxStall > d.lease()/stallShare || len(judge.LateServers(d.Scenario, rec.Windows)) > 0
	for _, w := range rec.Windows {
		if !w.Confirmed {
			r.Health.Unconfirmed++
		}
	}
	return set
}

// latencies returns the times of the operations with a definite outcome, and how late acquires
// began, in all and in the health of the run.
func (d *serverDriver) latencies(h *results.Health, rec *record) (set *latency.Set, lag int64) {
	set = latency.NewSet(rec.Windows)
	set.AddHandOvers(rec.Ops)
	intended := map[string][]int64{} // of each client's acquires that are still to come
	for _, c := range d.records {
		intended[c.name] = c.intended
	}
	for i := range rec.Ops {
		op := &rec.Ops[i]
		start := op.Call
		if next := intended[op.Client]; op.Op == history.Acquire && len(next) > 0 {
			start, intended[op.Client] = next[0], next[1:]
		}
		measured := op.Op == history.Acquire || op.Op == history.Release || op.Op == history.Extend
		if !measured || start < d.warm() {
			continue
		}
		if op.Op == history.Acquire {
			late := op.Call - start
			lag += max(late, 0)
			h.Starts++
			h.MaxLag = max(h.MaxLag, time.Duration(late))
			if late > results.LateBy {
				h.LateStarts++
			}
		}
		if op.Outcome == history.OK {
			set.Add(op.Op.String(), start, op.Call, op.Return)
		}
	}
	return set, lag
}

func (d *serverDriver) load(ops []history.Operation) results.Throughput {
	end := d.ended + 1 // of measuring: with the clients, or with the length
	if over := d.warm() + d.length(); d.length() > 0 && over < d.ended {
		end = over
	}
	l := results.Throughput{Clients: d.Scenario.Clients, Open: d.Scenario.Rate > 0,
		Duration: time.Duration(max(min(end, d.ended)-d.warm(), 1)), WarmUp: time.Duration(d.warm())}
	l.Offered = d.OpenLoop().Offered(d.warm(), d.warm()+int64(l.Duration))
	within := 0
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Op != history.Acquire || op.Outcome != history.OK || op.Return >= end:
		case op.Return < d.warm():
			l.Excluded++
		default:
			within++
		}
	}
	l.Achieved = float64(within) / l.Duration.Seconds()
	return l
}

// stallTick is short beside every lease and costs a five-hundredth of one processor.
const stallTick = 2 * time.Millisecond

// watchStalls measures how late the machine schedules this process, by sleeps of stallTick: a lack
// of processors stalls clients without any fault. It measures until end is called, which returns
// the longest delay.
func watchStalls(now func() time.Time) (end func() time.Duration) {
	var longest time.Duration
	var watching sync.WaitGroup
	quit := make(chan struct{})
	watching.Go(func() {
		for asked := now(); ; asked = now() {
			select {
			case <-quit:
				return
			case <-time.After(stallTick):
				longest = max(longest, now().Sub(asked)-stallTick)
			}
		}
	})
	return func() time.Duration {
		close(quit)
		watching.Wait()
		return longest
	}
}

// stallShare is the share of a lease from which a stall of the machine counts as an unplanned
// fault: a tenth is twice the time that quorum locks allow a node to reply, and no scenario places
// two moments closer together.
const stallShare = 10

// slowestReply returns the longest time of a request while no fault was in force: the machine may
// stall server processes as well as clients.
func slowestReply(commands []history.Command, windows []history.Window) (longest time.Duration) {
	for _, c := range commands {
		took := time.Duration(c.Replied - c.Sent)
		meets := func(w history.Window) bool { return w.Start <= c.Replied && c.Sent <= w.Last() }
		if took > longest && !c.Waits() && !slices.ContainsFunc(windows, meets) {
			longest = took
		}
	}
	return longest
}
