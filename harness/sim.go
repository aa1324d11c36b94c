package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// Sim is the provider that stands for the simulator. An experiment with it runs in virtual time, several schedules one after the
// other, each with its own order of messages; what it finds is the sum over the schedules, and what it keeps is the first
// schedule that broke something, or the last.
type Sim struct {
	// Schedules is how many are run per experiment; 0 means 10.
	Schedules int

	mu   sync.Mutex // protects idle
	idle []*sim.Simulator
}

// enoughCommands ends an experiment early: a schedule in which clients poll for seconds shows as much as ten short ones, and takes longer.
// Within a schedule no round begins after so many, either: a lock that is never granted would be polled for to the end.
const enoughCommands = 4000

// DefaultSchedules is how many schedules of an experiment are simulated unless somebody says otherwise.
const DefaultSchedules = 10

var _ servers.Provider = (*Sim)(nil)

// Name is sim.
func (s *Sim) Name() string { return "sim" }

// Available is always nil: the simulator needs nothing but this program.
func (s *Sim) Available(context.Context) error { return nil }

// Describe says what it can do.
func (s *Sim) Describe() string {
	return "in this process, in virtual time: every topology, every fault"
}

// Start refuses: the simulator's nodes live inside a schedule.
func (s *Sim) Start(context.Context, servers.Spec) (servers.Deployment, error) {
	return nil, fmt.Errorf("servers of the simulator outside a schedule: %w", servers.ErrRefused)
}

// Close ends the simulators that were used.
func (s *Sim) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, one := range s.idle {
		errs = append(errs, one.Close())
	}
	s.idle = nil
	return errors.Join(errs...)
}

// borrow returns a simulator that nobody else is using; bring takes it back.
func (s *Sim) borrow() *sim.Simulator {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		one := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return one
	}
	return sim.New(catalogue.Known{})
}

func (s *Sim) bring(one *sim.Simulator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, one)
}

// simDriver makes an experiment in the simulator, schedule by schedule.
type simDriver struct {
	Experiment
	pool  *Sim
	one   *sim.Simulator // nil before deploy
	total tally
}

var _ driver = (*simDriver)(nil)

// deploy takes a simulator. Its nodes live inside a schedule.
func (d *simDriver) deploy(context.Context) ([]results.Node, error) {
	d.one = d.pool.borrow()
	return nil, nil
}

// close gives the simulator back.
func (d *simDriver) close() error {
	d.pool.bring(d.one)
	return nil
}

// drive runs the schedules, each checked when it is over: what they showed together decides whether there is to be another. The record is that of the first
// schedule that broke something, or of the last.
func (d *simDriver) drive(ctx context.Context, _ *saver) (*record, error) {
	n := cmp.Or(d.pool.Schedules, DefaultSchedules)
	for i := 0; i < n && d.total.commands < enoughCommands && d.stopped(ctx) == nil; i++ {
		run, err := d.schedule(ctx, d.Seed+uint64(i))
		if err != nil {
			return nil, err
		}
		d.total.add(run)
		if d.Enough != nil && d.Enough(*d.total.verdict) {
			break
		}
	}
	if d.total.runs == 0 {
		return nil, context.Canceled
	}
	return d.total.record(d.ends(d.total.kept.Outcome)), nil
}

// stopped tells that the run is to end early.
func (e Experiment) stopped(ctx context.Context) error {
	select {
	case <-e.Stop:
		return context.Canceled
	default:
		return ctx.Err()
	}
}

// scheduled is one simulated schedule and what it was found to be.
type scheduled struct {
	sim.Outcome
	verdict *checker.Verdict
}

func (d *simDriver) schedule(ctx context.Context, seed uint64) (scheduled, error) {
	out, err := d.one.Run(d.program(seed))
	if err != nil {
		return scheduled{}, err
	}
	if out.Crash != "" {
		return scheduled{}, fmt.Errorf("simulate %s × %s, seed %d: %s", d.Variant.Name, d.Scenario.Name, seed, out.Crash)
	}
	v, _, err := out.Check(ctx, checker.Options{Seed: seed, Store: d.ends(out), Bare: true})
	if err != nil {
		return scheduled{}, fmt.Errorf("check the history: %w", err)
	}
	doubts(v, d.Experiment, out.Windows)
	return scheduled{out, v}, nil
}

// judge returns the sum of the schedules' verdicts. Its first violations are those of the schedule that is kept, with their stories, which take longer
// than the schedule itself.
func (d *simDriver) judge(ctx context.Context, rec *record) (*checker.Verdict, explain.Findings, error) {
	sum := d.total.verdict
	if sum.Verdict != checker.Fail {
		return sum, explain.Findings{}, nil
	}
	v, found, err := d.total.kept.Check(ctx, checker.Options{Seed: d.Seed, Store: rec.store, MaxViolations: keptViolations})
	if err != nil {
		return nil, found, err
	}
	sum.Violations = v.Violations
	for i, p := range sum.Properties {
		for _, q := range v.Properties {
			if q.Name == p.Name && q.First != nil {
				sum.Properties[i].First = q.First
			}
		}
	}
	return sum, found, nil
}

// keptViolations is how many violations of a property are told of a simulated schedule.
const keptViolations = 3

// measure fills in what was asked for: no figure of virtual time means anything.
func (d *simDriver) measure(r *results.Result, _ *record) *latency.Set {
	r.SetLatency(nil, results.NoLatency)
	r.Load = results.Throughput{Clients: d.Scenario.Clients, Open: d.Scenario.Rate > 0, Offered: d.Scenario.Rate}
	return nil
}

// program is the experiment as the simulator wants it.
func (d *simDriver) program(seed uint64) sim.Program {
	w, _ := workloads.Find(d.Scenario.Workload)
	return sim.Program{
		Variant: d.Variant, Workload: w, Config: d.config(), Clients: d.Scenario.Clients, Topology: d.topology(), Nodes: d.Scenario.Nodes,
		Poll: d.Scenario.Poll.Of(d.lease()), Permits: d.Scenario.Permits, Timeout: replyTimeout(d.lease()),
		Persistence: d.Scenario.Persistence, Faults: d.Scenario.Faults, Length: d.Scenario.Length.Of(d.lease()), Seed: seed,
		Enough: enoughCommands,
	}
}

// ends are the values of the guarded store, where the workload guards one.
func (d *simDriver) ends(out sim.Outcome) map[string]checker.StoreEnds {
	w, _ := workloads.Find(d.Scenario.Workload)
	ends := map[string]checker.StoreEnds{}
	if keys := w.Guarded(d.config()); len(keys) == 1 && out.Final != nil {
		for key := range keys {
			ends[key] = checker.StoreEnds{Initial: out.Initial, Final: out.Final}
		}
	}
	return ends
}

// tally adds up schedules.
type tally struct {
	runs      int
	commands  int
	errors    results.AcquireErrors
	failovers *results.Failovers
	kept      scheduled // the first that broke something, or the last
	verdict   *checker.Verdict
}

func (t *tally) add(s scheduled) {
	t.runs++
	t.commands += len(s.Commands)
	t.errors = t.errors.Add(results.CountAcquireErrors(s.Ops, s.Windows))
	t.failovers = results.SumFailovers(t.failovers, results.CountFailovers(s.Windows))
	if t.verdict == nil {
		t.kept, t.verdict = s, s.verdict
		return
	}
	if t.kept.verdict.Verdict != checker.Fail {
		t.kept = s
	}
	t.verdict = checker.Sum(t.verdict, s.verdict)
}

// record is the one that is kept, with what was counted in all schedules.
func (t *tally) record(store map[string]checker.StoreEnds) *record {
	out := t.kept.Outcome
	history.LinkCommands(out.Ops, out.Commands)
	return &record{
		Recorded: history.Recorded{Header: out.Header, Ops: out.Ops, Commands: out.Commands, Scripts: maps.Clone(out.Scripts)},
		windows:  out.Windows, store: store, errors: t.errors, failovers: t.failovers, ended: int64(out.Virtual),
		notes: []string{fmt.Sprintf("%d simulated schedules; the record kept is of one of them", t.runs)},
	}
}

// OfTape makes a scenario of a tape: the same lock, clients, rounds and times, and of its faults those that are so from the start. The
// others, and the order of messages, are in the tape's schedule, see [Experiment.Schedule].
func OfTape(t sim.Tape) scenarios.Scenario {
	p := t.Program
	s := scenarios.Scenario{
		Name: "tape", About: "The program of a tape.", Workload: p.Load, Topology: p.Topology, Nodes: p.Nodes,
		Clients: cmp.Or(p.Clients, 2), Ops: p.Config.Ops, Length: faults.Span{Fixed: p.Length}, Lease: faults.Span{Fixed: p.Config.Lease},
		Think: faults.Span{Fixed: p.Config.Think}, Pause: faults.Span{Fixed: p.Config.Pause}, Wait: faults.Span{Fixed: p.Config.AcquireWait},
		Poll: faults.Span{Fixed: cmp.Or(p.Poll, p.Config.Lease/sim.PollsPerLease)}, Keys: p.Config.Keys, Permits: p.Permits, Amounts: p.Config.Amounts,
		Persistence: p.Persistence,
	}
	for _, f := range p.Faults {
		if kind, _ := faults.FindKind(f.Fault); kind.In == faults.InClient && f.When.Form() == faults.AtStart {
			s.Faults = append(s.Faults, f)
		}
	}
	return s
}
