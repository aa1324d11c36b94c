package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
)

type oneLock struct{ v impls.Variant }

// Find returns the lock under its own name.
func (o oneLock) Find(name string) (impls.Variant, bool) { return o.v, name == o.v.Name }

// ScriptNames knows none.
func (oneLock) ScriptNames() map[string]string { return map[string]string{} }

// madeByChild is the constructor of a lock that child processes make.
func madeByChild(impls.Env) (impls.Lock, error) { return nil, impls.ErrUnsupported }

// fitsProcesses rejects searches that real processes cannot do.
func (f exploreFlags) fitsProcesses() error {
	switch {
	case f.strategy.value == search.Exhaustive:
		return fmt.Errorf("%w: --exec --strategy exhaustive: what a process keeps cannot be seen, so that no schedule is known to be equal to another", errUsage)
	case f.lease < 10*time.Millisecond:
		return fmt.Errorf("%w: --lease %v: time is real, and less than 10ms passes by itself", errUsage, f.lease)
	}
	return nil
}

// live adapts a search to a command: real time, and faults that can be done to processes.
func (f exploreFlags) live(cfg *search.Config, v impls.Variant) error {
	placed := harness.LiveFaults(cfg.Bounds.Faults, f.exec.fleet.About.CanCancel())
	if len(f.faults) > 0 && len(placed) < len(cfg.Bounds.Faults) {
		refused := slices.DeleteFunc(slices.Clone(cfg.Bounds.Faults), func(n string) bool { return slices.Contains(placed, n) })
		return fmt.Errorf("%w: --exec --faults %s: a search cannot do that to a process", errUsage, strings.Join(refused, ","))
	}
	cfg.Bounds.Faults, cfg.Known = placed, oneLock{v}
	cfg.Program = harness.LiveProgram(cfg.Program, f.lease)
	return nil
}

// worlds starts a world of real processes for each lane. end ends them.
func (a *app) worlds(ctx context.Context, f *exploreFlags, cfg search.Config) (all []sim.World, end func() error, err error) {
	e := harness.Experiment{Variant: cfg.Program.Variant, Subject: f.exec.fleet, Now: a.now, Random: a.random, Argv: a.argv,
		Scenario: scenarios.Scenario{Name: "explore", Clients: cfg.Program.Clients, Topology: cfg.Program.Topology, Lease: faults.Span{Fixed: f.lease}}}
	if e.Provider, e.Chosen, err = a.provider(ctx, f.server, f.exec.providers(a.providers())); err != nil {
		return nil, nil, err
	}
	a.announce(e.Provider, e.Chosen)
	f.server = e.Provider.Name()
	began := a.now().UnixNano()
	lanes := make([]*harness.Live, liveLanes)
	var starting errgroup.Group
	for i := range lanes {
		starting.Go(func() (err error) {
			e := e
			if e.Provider.Guest() {
				e.Prefix = fmt.Sprintf("lockbench:explore-%d-%d:", began, i)
			}
			lanes[i], err = harness.OpenLive(ctx, e)
			return err
		})
	}
	err = starting.Wait()
	lanes = slices.DeleteFunc(lanes, func(l *harness.Live) bool { return l == nil })
	end = func() error {
		var ending errgroup.Group
		for _, l := range lanes {
			ending.Go(l.Close)
		}
		return ending.Wait()
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	for _, l := range lanes {
		all = append(all, l)
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
	// a schedule that has begun is run to its end
	var runners []sim.Runner
	for _, w := range worlds {
		runners = append(runners, sim.In(context.WithoutCancel(ctx), w, cfg.Known))
	}
	if r, err = search.Here(ctx, cfg, runners, progress); err != nil || r.First == nil {
		return r, nil, harness.BlameChild(f.exec.fleet, err)
	}
	a.line.show("shrinking the tape")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveShrinkBudget)
	defer cancel()
	small, err := search.Shrink(ctx, runners[0], r.Tape, search.TriesRealTime)
	if len(small.Steps) > 0 {
		r.Keep(small)
	}
	rec, again := replayFindingIn(ctx, runners[0], r.Tape)
	return r, rec, errors.Join(err, again)
}
