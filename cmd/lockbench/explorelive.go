package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
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

type oneLock struct{ v impls.Variant }

// Find returns the lock under its own name.
func (o oneLock) Find(name string) (impls.Variant, bool) { return o.v, name == o.v.Name }

// ScriptNames knows none.
func (oneLock) ScriptNames() map[string]string { return map[string]string{} }

// worlds starts a world of real processes for each lane. end ends them.
func (a *app) worlds(ctx context.Context, f *exploreFlags, cfg search.Config) (all []sim.World, end func() error, err error) {
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
			ending.Go(w.(*harness.Live).Close)
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
		runners = append(runners, sim.In(context.WithoutCancel(ctx), w, cfg.Known))
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
