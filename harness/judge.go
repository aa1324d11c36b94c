package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/sim"
)

// judge has the record checked, and saves what came out. A checker that fails loses nothing: the record is on disk.
func (d *drive) judge(ctx context.Context, k *keeper) (*Outcome, error) {
	d.tell(Progress{Phase: "checking", Elapsed: time.Duration(d.ended)})
	out := &Outcome{Run: k.run, Windows: d.windows.all(), Record: d.recorded, Dir: k.path()}
	if c := d.replayer; c != nil {
		order := c.Order()
		out.Order = &order
	}
	ops, commands := d.recorded.Ops, d.recorded.Commands
	in := checker.Input{Header: d.header(), Ops: history.NewSlice(ops), Commands: commands, Faults: out.Windows}
	var err error
	out.Verdict, err = checker.Check(context.WithoutCancel(ctx), in, checker.Options{Seed: d.Seed, Store: d.store})
	if err != nil {
		return out, fmt.Errorf("check the history: %w", err)
	}
	if err := sim.Explain(out.Verdict, explain.Record{Header: in.Header, Ops: ops, Commands: commands, Scripts: d.recorded.Scripts, Faults: out.Windows}); err != nil {
		return out, fmt.Errorf("explain what was found: %w", err)
	}
	out.Verdict.Notes = append(out.Verdict.Notes, d.notes...)
	doubts(out.Verdict, d.Experiment, out.Windows)
	var set *latency.Set // nil: not to be seen anywhere
	if d.measures() {
		set = latency.Merge(out.Windows, d.latencies(ops)...)
	}
	out.Result = d.result(k, out, set)
	out.Result.Doubt(results.CountAcquireErrors(ops, out.Windows).Reason())
	out.Result.Doubt(out.Result.Load.RateReason(out.Windows))
	out.Verdict.Verdict = out.Result.Verdict
	out.Result.Health.MaxStall = max(d.stall, slowestReply(commands, out.Windows))
	out.Result.Health.Stalled = out.Result.Health.MaxStall > d.lease()/stallShare || len(lateServers(d.Experiment, out.Windows)) > 0
	if set != nil {
		wait := latency.SplitWait(ops, commands, int64(d.claimedLease()), d.totalLag())
		out.Result.Wait = &wait
	}
	d.holdGates(&out.Result)
	err = errors.Join(k.saveLatency(set, k.run.Start, k.run.Start.Add(time.Duration(d.ended))), k.saveResult(out, d.Now()))
	out.Run = k.run
	return out, err
}

// measures reports whether latencies mean something: what is measured against a look-alike does not.
func (d *drive) measures() bool { return d.Provider.Name() != "miniredis" }

// doubts lowers a pass to inconclusive when a fault of the plan did not take, took too long to end, or never struck: nothing was shown then.
func doubts(v *checker.Verdict, e Experiment, windows []history.Window) {
	struck := map[string]bool{}
	for _, w := range windows {
		struck[w.Fault] = true
		if !w.Confirmed {
			doubt(v, strings.TrimSuffix(fmt.Sprintf("%s did not take: %s", strings.TrimSpace(w.Fault+" "+w.Client), w.Note), ": "))
		}
	}
	for _, w := range lateServers(e, windows) {
		doubt(v, fmt.Sprintf("%s took %v to end: a section had passed before the node was there", w.Fault, time.Duration(w.End-w.Ending).Round(time.Millisecond)))
	}
	for _, f := range e.Scenario.Faults {
		if !struck[f.Fault] {
			doubt(v, f.Fault+" never struck: its trigger never matched")
		}
	}
}

func doubt(v *checker.Verdict, why string) {
	v.Notes = append(v.Notes, why)
	if v.Verdict == checker.Pass {
		v.Verdict = checker.Inconclusive
	}
}

// latencies adds the hand-overs to what the clients recorded.
func (d *drive) latencies(ops []history.Operation) []*latency.Recorder {
	handOvers := latency.NewRecorder()
	latency.HandOvers(handOvers, ops)
	return append(d.latency, handOvers)
}

// result is what result.json will say.
func (d *drive) result(k *keeper, out *Outcome, set *latency.Set) results.Result {
	r := results.NewResult(k.run, *out.Verdict)
	r.Rerun = d.Rerun
	r.SetLatency(set, results.NotRedis)
	r.Load = results.Throughput{Clients: d.Scenario.Clients, Open: d.Scenario.Rate > 0, Offered: d.Scenario.Rate,
		Duration: time.Duration(max(min(d.measuredUntil(), d.ended)-d.warm(), 1)), WarmUp: time.Duration(d.warm())}
	within, before := d.grants(d.recorded.Ops)
	r.Load.Achieved, r.Load.Excluded = float64(within)/r.Load.Duration.Seconds(), before
	r.Failovers = results.CountFailovers(out.Windows)
	r.Health.GCMax = longestCollection(k.run.Start)
	for _, w := range out.Windows {
		if !w.Confirmed {
			r.Health.Unconfirmed++
		}
	}
	for _, l := range d.lags {
		r.Health.Starts += l.starts
		r.Health.LateStarts += l.late
		r.Health.MaxLag = max(r.Health.MaxLag, time.Duration(l.latest))
	}
	return r
}

// longestCollection is the longest stop of this process by the garbage collector since an instant, of those that the runtime
// remembers.
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

// holdGates holds the figures against the scenario's limits, once all of them are there. [scenarios.Scenario.Validate] has read the limits.
func (e Experiment) holdGates(r *results.Result) {
	var gates []results.Gate
	for _, text := range e.Scenario.SLO {
		if g, err := results.ParseGate(text); err == nil {
			gates = append(gates, g)
		}
	}
	r.Gates = r.CheckGates(gates)
}

func (d *drive) totalLag() (sum int64) {
	for _, l := range d.lags {
		sum += l.total
	}
	return sum
}
