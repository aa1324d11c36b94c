package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
)

// The search through schedules of real processes.
const (
	liveLease        = 100 * time.Millisecond
	liveLanes        = 16 // schedules at a time: one mostly waits for leases
	liveShrinkBudget = 15 * time.Second
	againLive        = 5 // how often a finding is run again for its record
)

// oneLock is the catalogue of a command: the lock alone, under its own name.
type oneLock struct{ v impls.Variant }

// Find returns the lock.
func (o oneLock) Find(name string) (impls.Variant, bool) { return o.v, name == o.v.Name }

// ScriptNames knows none.
func (oneLock) ScriptNames() map[string]string { return map[string]string{} }

// worlds starts a world of real processes for each lane. end ends them.
func (a *app) worlds(ctx context.Context, f *exploreFlags, cfg search.Config) (all []*harness.Live, end func() error, err error) {
	p, why, err := a.provider(ctx, f.server, true)
	if err != nil {
		return nil, nil, err
	}
	f.server = p.Name()
	e := a.experiment(p, why, "")
	e.Variant, e.Subject = cfg.Program.Variant, f.exec.fleet
	e.Scenario = scenarios.Scenario{Name: "explore", Clients: cfg.Program.Clients, Topology: cfg.Program.Topology, Lease: faults.Span{Fixed: f.lease}}
	began := a.now().UnixNano()
	var mu sync.Mutex // protects all
	var starting, ending errgroup.Group
	for i := range liveLanes {
		starting.Go(func() error {
			e := e
			if e.Provider.Guest() {
				e.Prefix = fmt.Sprintf("lockbench:explore-%d-%d:", began, i)
			}
			lane, err := harness.OpenLive(ctx, e)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, lane)
			return nil
		})
	}
	err = starting.Wait()
	end = func() error {
		for _, w := range all {
			ending.Go(w.Close)
		}
		return ending.Wait()
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return all, end, nil
}

// exploreLive searches schedules of real processes, and shrinks a finding and records it while they
// run.
func (a *app) exploreLive(ctx context.Context, f *exploreFlags, cfg search.Config, progress func(search.Stats)) (r search.Result, rec *found, err error) {
	worlds, end, err := a.worlds(ctx, f, cfg)
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	var runners []sim.Runner
	for _, w := range worlds { // a schedule that has begun is run to its end
		runners = append(runners, sim.In(context.WithoutCancel(ctx), w.Run, cfg.Known))
	}
	if r, err = search.Here(ctx, cfg, runners, progress); err != nil || r.First == nil {
		return r, nil, harness.BlameChild(f.exec.fleet, err)
	}
	a.line.show("shrinking the tape")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveShrinkBudget)
	defer cancel()
	err = shrink(ctx, runners[0], &r, search.TriesRealTime)
	// the time of processes is real, so that a schedule need not break at once again
	for i := 0; i < againLive && rec == nil && err == nil && ctx.Err() == nil; i++ {
		var out sim.Outcome
		if out, err = runners[0].Schedule(r.Tape.Program, r.Tape.Follow(), r.Tape.Bounds, false); err == nil {
			rec, err = judgeFinding(ctx, r.Tape, out)
		}
	}
	return r, rec, err
}

// aboutSearch is what the page of a finding says of its scenario.
const aboutSearch = "A search chose the schedule: which message comes next, when time passes, and which faults strike. It was shrunk to the least that still breaks."

// found is the record of a finding's schedule, judged as a run is.
type found struct {
	sim.Outcome
	verdict *checker.Verdict
}

// judgeFinding judges the schedule of a tape; nil if its operations do not show the tape's
// violation, such as a client that never ends.
func judgeFinding(ctx context.Context, t sim.Tape, out sim.Outcome) (*found, error) {
	v, _, err := judge.Check(ctx, judge.Record{Recorded: out.Recorded, Windows: out.Windows, Store: out.Store, Effects: out.Effects}, checker.Options{Seed: t.Program.Seed})
	if err != nil {
		return nil, err
	}
	sought := func(x checker.Violation) bool { return x.Property == t.Property && x.Cause == t.Cause }
	if !slices.ContainsFunc(v.Violations, sought) {
		return nil, nil
	}
	slices.SortStableFunc(v.Violations, func(a, b checker.Violation) int { // file 001 tells of the finding
		switch {
		case sought(a) == sought(b):
			return 0
		case sought(a):
			return -1
		}
		return 1
	})
	return &found{out, v}, nil
}

// keepRecord saves the record of a finding as that of a run, with its pages.
func (a *app) keepRecord(d *results.Dir, run results.Run, t sim.Tape, f *found) error {
	run.Store, run.Schedules, run.Phase = f.Store, 1, results.Checked
	r := results.NewResult(run, *f.verdict)
	r.Finding, r.Load.Clients, r.Rerun = t.Property, t.Program.Clients, replayOf(d.File(results.TapePath), run)
	source, why := history.Simulated, results.NoLatency
	if run.Server != results.Simulator {
		source, why = history.AppendOnly, "not measured by a search"
	}
	r.SetLatency(nil, why)
	judge.Conclude(&r, f.verdict, judge.Ending{})
	out := &harness.Outcome{Run: run, Windows: f.Windows, Record: f.Recorded, Verdict: f.verdict, Result: r, Dir: d.Path()}
	return errors.Join(d.SaveRecord(f.Recorded, f.Windows, source, f.Effects), d.SaveResult(r), d.SaveRun(run), saveViews(out))
}
