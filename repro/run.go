package repro

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
	"github.com/lockbench/lockbench/verdicts"
)

// ErrSimOnly: a bug that is found by a search of schedules was run on real servers.
var ErrSimOnly = errors.New("only the simulator can search schedules")

// Config says where and how bugs are reproduced.
type Config struct {
	// Base is the experiment of every run, without lock, scenario and seed.
	Base harness.Experiment
	// Seed is the seed of the first run; each further run has the next one.
	Seed uint64
	// Run makes one run, such as harness.Run.
	Run func(context.Context, harness.Experiment) (*harness.Outcome, error)
	// Explore searches, such as search.Explore.
	Explore func(context.Context, search.Config) (search.Result, error)
	// Breaks reports whether a tape still shows its violation, and returns the story; such as
	// search.Breaks.
	Breaks func(context.Context, sim.Tape) (bool, []string, error)
	// Budget bounds a search in real time; 0 means 30 seconds.
	Budget time.Duration
}

// defaultBudget bounds a search without a budget.
const defaultBudget = 30 * time.Second

// attempts is the most runs until the bug is observed: the seed decides who stalls, and on a busy
// machine a fault may come too late.
const attempts = 4

// Run reproduces one bug. The error is that of a run or search that failed; a bug that was not
// observed is a result.
func Run(ctx context.Context, b Bug, cfg Config) (results.Repro, error) {
	start := cfg.Base.Now()
	r := results.Repro{Schema: results.ReproSchema, Name: b.Name, What: b.What, Source: b.Source, Lock: b.Lock, Scenario: b.Scenario, Server: cfg.Base.Provider.Name(),
		Expected: b.Shows, Observed: []string{}, Command: b.Command()}
	if cfg.Base.Subject.Exec != "" {
		r.Lock = cfg.Base.Variant.Name
	}
	var err error
	switch {
	case b.Searches():
		err = explore(ctx, b, cfg, &r)
	case b.Tape != "" && harness.Simulates(cfg.Base.Provider):
		err = follow(ctx, b, cfg, &r)
	default:
		err = runs(ctx, b, cfg, &r)
	}
	r.Seconds = cfg.Base.Now().Sub(start).Seconds()
	return r, err
}

// explore searches for the bug in the default setting for the lock's kind.
func explore(ctx context.Context, b Bug, cfg Config, r *results.Repro) error {
	if !harness.Simulates(cfg.Base.Provider) {
		return fmt.Errorf("%s on %s: %w", b.Name, r.Server, ErrSimOnly)
	}
	v, ok := catalogue.Find(b.Lock)
	if !ok {
		return fmt.Errorf("%s: no lock is called %q", b.Name, b.Lock)
	}
	found, err := cfg.Explore(ctx, search.Config{
		Program: sim.DefaultProgram(v), Bounds: sim.Bounds{Faults: sim.DefaultFaults(v), MaxFaults: 2, MaxWaits: 2},
		Seed: cfg.Seed, Budget: cmp.Or(cfg.Budget, defaultBudget), Seek: b.Shows,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	r.Attempts = found.Schedules
	if found.First == nil {
		r.Why = fmt.Sprintf("not found in %d schedules", found.Schedules)
		return nil
	}
	r.Observed = append(r.Observed, fmt.Sprintf("%s/%s", found.First.Property, found.First.Cause))
	r.Story = found.First.Steps
	t := found.Tape // with the control: if it breaks too, the violation was not the bug
	t.Program.Lock, t.Program.Variant = b.Control, impls.Variant{}
	broken, _, err := cfg.Breaks(ctx, t)
	if err != nil {
		return fmt.Errorf("%s along the tape of %s: %w", b.Control, b.Lock, err)
	}
	if broken {
		r.Why = fmt.Sprintf("the control %s breaks along the same tape", b.Control)
		return nil
	}
	r.Reproduced, r.Spared = true, b.Control
	return nil
}

// runs repeats the scenario until the bug is observed, and then runs it with the control.
func runs(ctx context.Context, b Bug, cfg Config, r *results.Repro) error {
	for i := range attempts {
		r.Attempts++
		out, seen, err := one(ctx, b, b.Lock, cfg, cfg.Seed+uint64(i))
		if err != nil {
			return err
		}
		r.Observed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Observed, seen))))
		if out.Dir != "" {
			r.Runs = append(r.Runs, out.Dir)
		}
		if len(b.shown(seen)) > 0 {
			r.Reproduced, r.Story = true, story(b, out)
			return control(ctx, b, cfg, cfg.Seed+uint64(i), r)
		}
	}
	r.Why = fmt.Sprintf("none of %v was observed in %d runs", b.Shows, r.Attempts)
	return nil
}

// control runs the scenario with the control, which must not break. A run in which no fault was
// injected is not a proof.
func control(ctx context.Context, b Bug, cfg Config, seed uint64, r *results.Repro) error {
	if b.Control == "" || cfg.Base.Subject.Exec != "" {
		return nil
	}
	cfg.Base.Aside = true
	out, seen, err := one(ctx, b, b.Control, cfg, seed)
	if err != nil {
		return err
	}
	scenario, found := scenarios.Find(b.Scenario)
	switch broke := b.shown(seen); {
	case len(broke) > 0:
		r.Reproduced, r.Why = false, fmt.Sprintf("the control %s broke too: %v", b.Control, broke)
	case len(out.Windows) == 0 && (!found || len(scenario.Faults) > 0):
		r.Reproduced, r.Why = false, fmt.Sprintf("no fault was injected into the run of the control %s", b.Control)
	default:
		r.Spared = b.Control
	}
	return nil
}

// one runs a lock once in the bug's scenario and returns its violations.
func one(ctx context.Context, b Bug, lock string, cfg Config, seed uint64) (*harness.Outcome, []string, error) {
	e := cfg.Base
	v, ok := catalogue.Find(lock)
	if e.Subject.Exec != "" { // the command replaces the lock
		v, ok = e.Variant, true
	}
	if !ok {
		return nil, nil, fmt.Errorf("%s: no lock is called %q", b.Name, lock)
	}
	s, err := scenarios.Load(b.Scenario)
	if err == nil {
		s, err = s.With(b.Set)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	e.Variant, e.Seed, e.Scenario = v, seed, s.Resolve(seed, v.Topology)
	out, err := cfg.Run(ctx, e)
	if err != nil {
		return out, nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	var seen []string
	for _, broken := range results.Observed(out.Result) {
		seen = append(seen, broken.String())
	}
	return out, seen, nil
}

// story returns the story of the first violation that the bug is expected to show. A simulated run
// has stories for only one of its schedules; if the bug was observed in another, the story is that
// of a violation of the same property.
func story(b Bug, out *harness.Outcome) []string {
	var beside []string
	about := func(p verdicts.Property) bool { // whatever the cause
		return slices.ContainsFunc(b.Shows, func(s string) bool { return s == string(p) || strings.HasPrefix(s, string(p)+"/") })
	}
	for _, v := range out.Verdict.Violations {
		switch {
		case len(v.Story) == 0:
		case len(b.shown([]string{string(v.Property) + "/" + string(v.Cause)})) > 0:
			return v.Story
		case beside == nil && about(v.Property):
			beside = v.Story
		}
	}
	return beside
}
