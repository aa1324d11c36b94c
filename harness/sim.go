package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
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

// simulate makes the experiment in the simulator.
func (e Experiment) simulate(ctx context.Context, keep *keeper, s *Sim) (*Outcome, error) {
	one := s.borrow()
	defer s.bring(one)
	n := s.Schedules
	if n == 0 {
		n = DefaultSchedules
	}
	var total tally
	for i := 0; i < n && total.commands < enoughCommands; i++ {
		if err := e.stopped(ctx); err != nil {
			break
		}
		run, err := e.schedule(ctx, one, e.Seed+uint64(i))
		if err != nil {
			return &Outcome{Run: keep.run, Dir: keep.path()}, err
		}
		total.add(run)
		if e.Enough != nil && e.Enough(*total.verdict) {
			break
		}
	}
	if total.verdict != nil && total.verdict.Verdict == checker.Fail {
		if err := e.told(ctx, &total); err != nil {
			return &Outcome{Run: keep.run, Dir: keep.path()}, err
		}
	}
	return e.simulated(keep, &total)
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

func (e Experiment) schedule(ctx context.Context, one *sim.Simulator, seed uint64) (scheduled, error) {
	out, err := one.Run(e.program(seed))
	if err != nil {
		return scheduled{}, err
	}
	if out.Crash != "" {
		return scheduled{}, fmt.Errorf("simulate %s × %s, seed %d: %s", e.Variant.Name, e.Scenario.Name, seed, out.Crash)
	}
	v, err := out.Check(ctx, checker.Options{Seed: seed, Store: e.ends(out), Bare: true})
	if err != nil {
		return scheduled{}, fmt.Errorf("check the history: %w", err)
	}
	doubts(v, e, out.Windows)
	return scheduled{out, v}, nil
}

// told is the verdict of the schedule that is kept with its stories, which take longer than the schedule itself, and the search for
// an order. Its first violations stand for those of the sum.
func (e Experiment) told(ctx context.Context, t *tally) error {
	v, err := t.kept.Check(ctx, checker.Options{Seed: e.Seed, Store: e.ends(t.kept.Outcome), MaxViolations: keptViolations})
	if err != nil {
		return fmt.Errorf("check the history: %w", err)
	}
	t.verdict.Violations = v.Violations
	for i, p := range t.verdict.Properties {
		for _, q := range v.Properties {
			if q.Name == p.Name && q.First != nil {
				t.verdict.Properties[i].First = q.First
			}
		}
	}
	return nil
}

// keptViolations is how many violations of a property are told of a simulated schedule.
const keptViolations = 3

// program is the experiment as the simulator wants it.
func (e Experiment) program(seed uint64) sim.Program {
	w, _ := workloads.Find(e.Scenario.Workload)
	return sim.Program{
		Variant: e.Variant, Workload: w, Config: e.config(), Clients: e.Scenario.Clients, Topology: e.topology(), Nodes: e.Scenario.Nodes,
		Poll: e.Scenario.Poll.Of(e.lease()), Permits: e.Scenario.Permits, Timeout: replyTimeout(e.lease()),
		Persistence: e.Scenario.Persistence, Faults: e.Scenario.Faults, Length: e.Scenario.Length.Of(e.lease()), Seed: seed,
		Enough: enoughCommands,
	}
}

// ends are the values of the guarded store, where the workload guards one.
func (e Experiment) ends(out sim.Outcome) map[string]checker.StoreEnds {
	w, _ := workloads.Find(e.Scenario.Workload)
	ends := map[string]checker.StoreEnds{}
	if keys := w.Guarded(e.config()); len(keys) == 1 && out.Final != nil {
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

// simulated saves what was kept, and gives the outcome.
func (e Experiment) simulated(keep *keeper, t *tally) (*Outcome, error) {
	out := &Outcome{Run: keep.run, Windows: t.kept.Windows, Dir: keep.path(), Verdict: t.verdict}
	if t.runs == 0 {
		return out, context.Canceled
	}
	keep.run.Store = e.ends(t.kept.Outcome)
	err := keep.simulated(t.kept.Outcome, e.Now())
	out.Result = results.NewResult(keep.run, *t.verdict)
	out.Result.Rerun, out.Result.Failovers = e.Rerun, t.failovers
	out.Result.Doubt(t.errors.Reason())
	out.Verdict.Verdict = out.Result.Verdict
	out.Result.SetLatency(nil, results.NoLatency)
	out.Result.Load = results.Throughput{Clients: e.Scenario.Clients, Open: e.Scenario.Rate > 0, Offered: e.Scenario.Rate}
	out.Result.Notes = append(out.Result.Notes, fmt.Sprintf("%d simulated schedules; the record kept is of one of them", t.runs))
	e.holdGates(&out.Result)
	err = errors.Join(err, keep.saveResult(out, e.Now()))
	out.Run = keep.run
	return out, err
}

// simulated saves the record of one schedule.
func (k *keeper) simulated(out sim.Outcome, now time.Time) error {
	if k.dir == nil {
		return nil
	}
	history.LinkCommands(out.Ops, out.Commands)
	return errors.Join(k.saveHistory(history.Recorded{Header: out.Header, Ops: out.Ops, Commands: out.Commands, Scripts: out.Scripts}),
		k.dir.SaveFunc(results.FaultsFile, func(w io.Writer) error { return history.WriteWindows(w, out.Windows) }),
		k.saveRun(results.Driven, now))
}
