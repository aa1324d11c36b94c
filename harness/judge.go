package harness

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// measures reports whether latencies are meaningful: those of miniredis are not.
func (d *serverDriver) measures() bool { return d.Provider.Name() != "miniredis" }

// doubts lowers a pass to inconclusive if a fault of the plan was not confirmed, took too long to end, or was never injected: the run has not tested it.
func doubts(v *checker.Verdict, e Experiment, windows []history.Window) {
	injected := map[string]bool{}
	for _, w := range windows {
		injected[w.Fault] = true
		if why := w.Doubt(); why != "" {
			v.Doubt(why)
		}
	}
	for _, w := range lateServers(e, windows) {
		v.Doubt(fmt.Sprintf("%s took %v to end: a section had passed before the node was there", w.Fault, time.Duration(w.End-w.Ending).Round(time.Millisecond)))
	}
	for _, f := range e.Scenario.Faults {
		if !injected[f.Fault] {
			v.Doubt(f.Fault + " was never injected: its trigger never matched")
		}
	}
}

// doubtMeetings lowers a pass to inconclusive if, whenever a fault of clients was in force, no other client was active: the others had finished their
// rounds while that client waited for its turn. A client is active from its first call to its last return: between two operations it pauses or polls.
func doubtMeetings(v *checker.Verdict, ops []history.Operation, windows []history.Window) {
	windows = slices.DeleteFunc(slices.Clone(windows), func(w history.Window) bool {
		kind, _ := faults.FindKind(w.Fault)
		return kind.In != faults.InClient || w.Client == "" || w.End <= w.Start
	})
	if len(windows) == 0 {
		return
	}
	active := activity(ops)
	met := map[string]bool{}
	for _, w := range windows {
		for client, s := range active {
			met[w.Fault] = met[w.Fault] || client != w.Client && s.from < w.End && s.to > w.Start
		}
	}
	for _, fault := range slices.Sorted(maps.Keys(met)) {
		if !met[fault] {
			v.Doubt(fault + " affected nobody: the other clients had done their rounds before it was injected")
		}
	}
}

// stay is the time from a client's first call to its last return.
type stay struct{ from, to int64 }

func activity(ops []history.Operation) map[string]*stay {
	active := map[string]*stay{}
	for i := range ops {
		op := &ops[i]
		s := active[op.Client]
		if s == nil {
			s = &stay{op.Call, op.Return}
			active[op.Client] = s
		}
		s.from, s.to = min(s.from, op.Call), max(s.to, op.Return)
	}
	return active
}

func (d *serverDriver) latencies(ops []history.Operation) []*latency.Recorder {
	handOvers := latency.NewRecorder()
	latency.HandOvers(handOvers, ops)
	return append(d.latency, handOvers)
}

// measure fills in the load and the health of the run and returns its latencies; nil if they are not meaningful.
func (d *serverDriver) measure(r *results.Result, rec *record) (set *latency.Set) {
	lag := int64(0)
	for _, l := range d.lags {
		lag += l.total
		r.Health.Starts += l.starts
		r.Health.LateStarts += l.late
		r.Health.MaxLag = max(r.Health.MaxLag, time.Duration(l.latest))
	}
	if d.measures() {
		set = latency.Merge(rec.windows, d.latencies(rec.Ops)...)
		wait := latency.SplitWait(rec.Ops, rec.Commands, d.header().Lease, lag)
		r.Wait = &wait
	}
	r.SetLatency(set, results.NotRedis)
	r.Load = d.load(rec.Ops)
	r.Doubt(r.Load.RateReason(rec.windows))
	r.Health.GCMax = longestCollection(d.base.start)
	r.Health.MaxStall = max(d.stall, slowestReply(rec.Commands, rec.windows))
	r.Health.Stalled = r.Health.MaxStall > d.lease()/stallShare || len(lateServers(d.Experiment, rec.windows)) > 0
	for _, w := range rec.windows {
		if !w.Confirmed {
			r.Health.Unconfirmed++
		}
	}
	return set
}

func (d *serverDriver) load(ops []history.Operation) results.Throughput {
	l := results.Throughput{Clients: d.Scenario.Clients, Open: d.Scenario.Rate > 0,
		Duration: time.Duration(max(min(d.measuredUntil(), d.ended)-d.warm(), 1)), WarmUp: time.Duration(d.warm())}
	l.Offered = d.OpenLoop().Offered(d.warm(), d.warm()+int64(l.Duration))
	within, before := d.grants(ops)
	l.Achieved, l.Excluded = float64(within)/l.Duration.Seconds(), before
	return l
}

// longestCollection returns the longest pause of this process by the garbage collector since an instant, among those that the runtime remembers.
func longestCollection(since time.Time) (longest time.Duration) {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	for i, end := range s.PauseEnd {
		if i < len(s.Pause) && end.After(since) {
			longest = max(longest, s.Pause[i])
		}
	}
	return longest
}

// gates returns the scenario's limits, which [scenarios.Scenario.Validate] has parsed.
func (e Experiment) gates() (gates []results.Gate) {
	for _, text := range e.Scenario.SLO {
		if g, err := results.ParseGate(text); err == nil {
			gates = append(gates, g)
		}
	}
	return gates
}

// stallTick is short beside every lease and costs a five-hundredth of one processor.
const stallTick = 2 * time.Millisecond

// watchStalls measures how late the machine schedules this process, by sleeps of stallTick: a lack of processors stalls clients without any fault. It
// measures until end is called, which returns the longest delay.
func watchStalls(now func() time.Time) (end func() time.Duration) {
	var longest time.Duration
	var watching sync.WaitGroup
	quit := make(chan struct{})
	watching.Go(func() {
		t := time.NewTimer(stallTick)
		defer t.Stop()
		for asked := now(); ; asked = now() {
			select {
			case <-quit:
				return
			case <-t.C:
			}
			longest = max(longest, now().Sub(asked)-stallTick)
			t.Reset(stallTick)
		}
	})
	return func() time.Duration {
		close(quit)
		watching.Wait()
		return longest
	}
}

// stallShare is the share of a lease from which a stall of the machine counts as an unplanned fault: a tenth is twice the time that quorum locks
// allow a node to reply, and no scenario places two moments closer together.
const stallShare = 10

// slowestReply returns the longest time of a request while no fault was in force: the machine may stall server processes as well as clients.
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

// lateServers lists the kills and failovers of a plan after which the next server was ready too late. Such a plan wants it back during the section
// under way, but the start, of containers above all, took more than half a section, so whether the section's lock was still held is chance. Faults
// that keep the server away for a lease are excepted: no hold can last that long.
func lateServers(e Experiment, windows []history.Window) (late []history.Window) {
	lease := e.lease()
	for _, w := range windows {
		takesAway := w.Fault == faults.KillServer || w.Fault == faults.Failover
		soon := !slices.ContainsFunc(e.Scenario.Faults, func(f faults.Spec) bool { return f.Fault == w.Fault && f.For.Of(lease) >= lease })
		if takesAway && soon && w.Ending > 0 && time.Duration(w.End-w.Ending) > e.Scenario.Think.Of(lease)/2 {
			late = append(late, w)
		}
	}
	return late
}
