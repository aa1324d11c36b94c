package harness

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

// Sim is the provider that represents the simulator. An experiment runs in virtual time, several
// schedules with orders of their own one by one. Its verdict is their sum; its record is that of
// the first schedule with a violation, or else of the last.
type Sim struct {
	// Schedules is the number of schedules per experiment; 0 means 10.
	Schedules int

	mu   sync.Mutex // guards idle
	idle []*sim.Simulator
}

// enoughCommands ends an experiment early: a schedule in which clients poll for seconds shows no
// more than ten short ones and takes longer. Nor does a round begin within a schedule after so
// many: clients of a lock that is never granted would poll to the end.
const enoughCommands = 4000

// messageDelay is for how long at most a message is on its way at once, as in a network within a
// data centre. If messages took no time, clients that poll at fixed intervals would meet at the
// same instants in every schedule.
const messageDelay = 2 * time.Millisecond

const defaultSchedules = 10

var _ servers.Provider = (*Sim)(nil)

func (s *Sim) Name() string { return "sim" }
func (s *Sim) Guest() bool  { return false }

// Simulates reports whether a provider is the simulator.
func Simulates(p servers.Provider) bool {
	_, ok := p.(*Sim)
	return ok
}

func (s *Sim) Available(context.Context) error { return nil }

// Describe describes the simulator in a sentence.
func (s *Sim) Describe() string {
	return "in this process, in virtual time: every topology but sentinel, every fault that needs no sentinels"
}

// Start returns an error: the simulator's nodes exist only within a schedule.
func (s *Sim) Start(context.Context, servers.Spec) (servers.Deployment, error) {
	return nil, fmt.Errorf("servers of the simulator outside a schedule: %w", servers.ErrRefused)
}

// Close closes the simulators that were used.
func (s *Sim) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.idle {
		one.Close()
	}
	s.idle = nil
	return nil
}

type simDriver struct {
	Experiment
	pool *Sim
	one  *sim.Simulator // nil before deploy

	// The sum of the schedules so far.
	runs, commands int
	errors         checker.Errors
	reached        history.Reach
	verdict        *checker.Verdict
	kept           scheduled // the first with a violation, or else the last
}

var _ driver = (*simDriver)(nil)

// deploy borrows a simulator. Its nodes exist only within a schedule.
func (d *simDriver) deploy(context.Context) ([]history.Server, error) {
	d.pool.mu.Lock()
	defer d.pool.mu.Unlock()
	if n := len(d.pool.idle); n > 0 {
		d.one, d.pool.idle = d.pool.idle[n-1], d.pool.idle[:n-1]
	} else {
		d.one = sim.New(catalogue.Known{})
	}
	return nil, nil
}

func (d *simDriver) close() error {
	d.pool.mu.Lock()
	defer d.pool.mu.Unlock()
	d.pool.idle = append(d.pool.idle, d.one)
	return nil
}

// drive runs the schedules and checks each; the sum so far decides whether another one runs. It
// returns the kept schedule's record, with the counts of all schedules.
func (d *simDriver) drive(ctx context.Context, _ *saver) (*record, error) {
	n := cmp.Or(d.pool.Schedules, defaultSchedules)
	for i := 0; i < n && d.commands < enoughCommands && !closed(d.Stop) && ctx.Err() == nil; i++ {
		run, err := d.schedule(ctx, d.Seed+uint64(i))
		if err != nil {
			return nil, err
		}
		d.runs++
		d.commands += len(run.Commands)
		d.reached = d.reached.Add(run.reached)
		d.errors.CountAll(run.Ops, run.Windows)
		if d.verdict == nil || d.kept.verdict.Verdict != checker.Fail {
			d.kept = run
		}
		if d.verdict == nil {
			d.verdict = run.verdict
		} else {
			d.verdict = checker.Sum(d.verdict, run.verdict)
		}
		if d.Enough != nil && d.Enough(*d.verdict) {
			break
		}
	}
	if d.runs == 0 {
		return nil, context.Canceled
	}
	out := d.kept.Outcome
	rec := &record{Record: judge.Record{Recorded: out.Recorded, Windows: out.Windows, Store: out.Store, Effects: out.Effects},
		source: history.Simulated, errors: d.errors, reached: d.reached, schedules: d.runs, ended: int64(out.Virtual)}
	if d.runs > 1 {
		rec.notes = append(rec.notes, fmt.Sprintf("schedules simulated: %d; the record kept is of one of them", d.runs))
	}
	if out.Lacking != "" {
		rec.notes = append(rec.notes, sim.Without(out.Header.Lock, out.Lacking))
	}
	return rec, nil
}

type scheduled struct {
	sim.Outcome
	verdict *checker.Verdict
	found   explain.Findings
	reached history.Reach
}

func (d *simDriver) schedule(ctx context.Context, seed uint64) (scheduled, error) {
	w, _ := workloads.Find(d.Scenario.Workload)
	out, err := d.one.Run(sim.Program{
		Variant: d.Variant, Workload: w, Config: d.config(), Clients: d.Scenario.Clients, Topology: d.topology(), Nodes: d.Scenario.Nodes,
		Poll: d.Scenario.Poll.Of(d.lease()), Permits: d.Scenario.Permits, Timeout: replyTimeout(d.lease()),
		Persistence: d.Scenario.Persistence, Faults: d.Scenario.Faults, Length: d.Scenario.Length.Of(d.lease()), Seed: seed,
		Enough: enoughCommands,
	}, messageDelay)
	if err != nil {
		return scheduled{}, err
	}
	if out.Crash != "" {
		return scheduled{}, fmt.Errorf("simulate %s × %s, seed %d: %s", d.Variant.Name, d.Scenario.Name, seed, out.Crash)
	}
	// the record that is kept is of the first with a violation
	bare := d.verdict != nil && d.verdict.Verdict == checker.Fail
	v, found, err := judge.Check(ctx, judge.Record{Recorded: out.Recorded, Windows: out.Windows, Store: out.Store, Effects: out.Effects}, checker.Options{Seed: seed, Bare: bare})
	if err != nil {
		return scheduled{}, fmt.Errorf("check the history: %w", err)
	}
	judge.Doubt(v, d.Scenario, out.Windows)
	return scheduled{out, v, found, history.Reached(out.Recorded, out.Windows, d.reachable())}, nil
}

// judge returns the sum of the verdicts, with the first violations of the kept schedule.
func (d *simDriver) judge(context.Context, *record) (*checker.Verdict, explain.Findings, error) {
	sum := *d.verdict
	sum.Estimate()
	sum.Violations = nil
	shown := map[verdicts.Property]int{}
	for _, v := range d.kept.verdict.Violations {
		if shown[v.Property]++; shown[v.Property] <= keptViolations {
			sum.Violations = append(sum.Violations, v)
		}
	}
	return &sum, d.kept.found, nil
}

// keptViolations is the number of violations per property that are reported of a simulated
// schedule.
const keptViolations = 3

// measure fills in the requested load only: latencies in virtual time are not meaningful.
func (d *simDriver) measure(r *results.Result, _ *record) *latency.Set {
	r.SetLatency(nil, results.NoLatency)
	r.Load = results.Throughput{Clients: d.Scenario.Clients, Open: d.Scenario.Rate > 0, Offered: d.Scenario.Rate}
	return nil
}

// OfTape converts a tape to a scenario: lock, clients, rounds, times, and the faults from the
// start. All else is in [Experiment.Schedule].
func OfTape(t sim.Tape) scenarios.Scenario {
	p := t.Program
	s := scenarios.Scenario{
		Name: "tape", About: "The program of a tape.", Workload: p.Load, Topology: p.Topology, Nodes: p.Nodes,
		Clients: cmp.Or(p.Clients, 2), Ops: p.Config.Ops, Length: faults.Span{Fixed: p.Length}, Lease: faults.Span{Fixed: p.Config.Lease},
		Think: faults.Span{Fixed: p.Config.Think}, Pause: faults.Span{Fixed: p.Config.Pause}, Keep: faults.Span{Fixed: p.Config.Keep}, Wait: faults.Span{Fixed: p.Config.AcquireWait},
		Poll: faults.Span{Fixed: cmp.Or(p.Poll, p.Config.Lease/sim.PollsPerLease)}, Keys: p.Config.Keys, Readers: p.Config.Readers, Permits: p.Permits, Amounts: p.Config.Amounts,
		Persistence: p.Persistence,
	}
	for _, f := range p.Faults {
		if kind, _ := faults.FindKind(f.Fault); kind.In == faults.InClient && f.When.Form() == faults.AtStart {
			s.Faults = append(s.Faults, f)
		}
	}
	return s
}
