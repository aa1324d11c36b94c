package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
)

// The default search.
const (
	exploreSeed   = 1
	exploreBudget = 10 * time.Second
	exploreFaults = 2                // in one schedule; one in an exhaustive search
	exploreWaits  = 2                // none in an exhaustive search: each multiplies the schedules
	shrinkBudget  = 30 * time.Second // on a busy machine; else a second or two
)

// noFaults is the word that stands for an empty list of faults.
const noFaults = "none"

type exploreFlags struct {
	lock, out                         string
	clients, ops, maxFaults, maxWaits int
	faults                            []string
	strategy                          choice
	budget                            time.Duration
	schedules                         int
	shard                             shardFlag
	seed                              uint64
	exec                              execFlags
	server                            string        // of exec
	lease                             time.Duration // of exec
}

func newExplore(a *app) *cobra.Command {
	f := exploreFlags{strategy: newChoice(search.Mixed, search.Exhaustive, search.Random, search.PCT, search.Mixed)}
	c := &cobra.Command{
		Use:   "explore {--lock NAME | --exec COMMAND} [flags]",
		Short: "Search the schedules of a lock for one that breaks it",
		Long: "explore runs a small setting of the lock over and over in virtual time, each time with another order of messages and other\n" +
			"faults, until a property breaks, the budget is used up, or every schedule within the bounds has been run. A finding is\n" +
			"shrunk, told as a story, printed as a Go test, and saved as a tape for 'lockbench replay'.\n\n" +
			"An exhaustive search has one round per client, at most one fault and no time limit, unless flags say otherwise; it is\n" +
			"called exhausted only when nothing within its bounds is left. The other strategies have three rounds, two faults and 10 s.\n\n" +
			"With --exec the clients are processes and time is real: a proxy holds every request and every reply, the strategy chooses\n" +
			"which goes next, and leases are short. The tape has what happened, for 'lockbench replay TAPE --exec COMMAND'.",
		Example: "  lockbench explore --lock set-nx-ex\n  lockbench explore --lock token --strategy exhaustive --faults pause-client\n" +
			"  lockbench explore --lock redlock --faults kill-server,jump-clock --budget 30s\n" +
			"  lockbench explore --exec 'python3 mylock.py'",
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return a.explore(c.Context(), f, c.Flags()) },
	}
	s := c.Flags()
	s.StringVar(&f.lock, "lock", "", "the lock to explore; 'lockbench list locks' and 'lockbench list planted' show them")
	s.IntVar(&f.clients, "clients", 0, "how many clients (default: by the lock's kind)")
	s.IntVar(&f.ops, "ops", 0, "rounds per client (default: by the lock's kind)")
	s.StringSliceVar(&f.faults, "faults", nil, "which faults a schedule may have; 'none' for none (default: those that a lock of its kind must survive)")
	s.IntVar(&f.maxFaults, "max-faults", exploreFaults, "how many faults a schedule may have")
	s.IntVar(&f.maxWaits, "max-waits", exploreWaits, "how often a schedule may let time pass while messages are on their way")
	s.Var(&f.strategy, "strategy", "the `order` in which schedules are chosen: exhaustive, random, pct, or mixed, which is random and pct in turn")
	s.DurationVar(&f.budget, "budget", exploreBudget, "how long to search; 0 for no limit")
	s.IntVar(&f.schedules, "schedules", 0, "how many schedules to run, in place of a budget")
	s.Uint64Var(&f.seed, "seed", exploreSeed, "random seed")
	s.Var(&f.shard, "shard", "i/n: search the i-th of n equal shares of the schedules; --schedules counts those of all shares")
	s.StringVar(&f.out, "out", results.DefaultBase, "where the run directory of a finding is made")
	f.exec.register(s)
	a.serverFlag(c, &f.server, "", " (of --exec alone; default: auto)")
	s.DurationVar(&f.lease, "lease", liveLease, "the lease of --exec")
	c.MarkFlagsMutuallyExclusive("budget", "schedules")
	return c
}

// config turns flags into a search. It starts nothing.
func (f *exploreFlags) config(ctx context.Context, flags *pflag.FlagSet) (cfg search.Config, err error) {
	err = cmp.Or(inRange(flags, "clients", 1, 64, f.clients), inRange(flags, "ops", 1, 1000, f.ops), inRange(flags, "max-faults", 0, 100, f.maxFaults),
		inRange(flags, "max-waits", 0, 1000, f.maxWaits), inRange(flags, "schedules", 1, 1<<40, f.schedules))
	if err != nil {
		return cfg, err
	}
	if f.budget < 0 {
		return cfg, fmt.Errorf("%w: --budget %v: must not be negative", errUsage, f.budget)
	}
	v, err := f.subject(ctx, flags)
	if err != nil {
		return cfg, err
	}
	p := sim.DefaultProgram(v)
	b := sim.Bounds{MaxFaults: f.maxFaults, MaxWaits: f.maxWaits}
	budget := f.budget
	otherwise := func(name string, value, least int) int {
		if flags.Changed(name) {
			return value
		}
		return least
	}
	if f.strategy.value == search.Exhaustive {
		p.Config.Ops, b.MaxFaults, b.MaxWaits = 1, otherwise("max-faults", f.maxFaults, 1), otherwise("max-waits", f.maxWaits, 0)
		if !flags.Changed("budget") {
			budget = 0
		}
	}
	if flags.Changed("schedules") {
		budget = 0
	}
	p.Clients, p.Config.Ops = cmp.Or(f.clients, p.Clients), cmp.Or(f.ops, p.Config.Ops)
	if b.Faults, err = f.placed(v, flags.Changed("faults")); err != nil {
		return cfg, err
	}
	cfg = search.Config{Program: p, Bounds: b, Known: catalogue.Known{}, Strategy: f.strategy.value, Seed: f.seed, Schedules: f.schedules, Budget: budget}
	if s := f.shard.given; s != nil {
		cfg.Shard = search.Shard{Index: s.Index, Count: s.Count}
	}
	if f.exec.given() { // time is real, and a child need not say that it renews by itself
		p.Renews = true
		cfg.Program, cfg.Known = harness.LiveProgram(p, f.lease), oneLock{v}
	}
	return cfg, nil
}

// subject returns the named lock, or the one that --exec describes.
func (f *exploreFlags) subject(ctx context.Context, flags *pflag.FlagSet) (v impls.Variant, err error) {
	if err = f.exec.check(flags, "lock"); err != nil {
		return v, err
	}
	if !f.exec.given() {
		for _, name := range []string{"server", "binary", "image", "lease", "password-file", "tls-ca", "tls-cert"} {
			if flags.Changed(name) {
				return v, fmt.Errorf("%w: --%s is for --exec: a lock of the catalogue is explored in the simulator, in virtual time", errUsage, name)
			}
		}
		return variant(f.lock)
	}
	switch {
	case f.strategy.value == search.Exhaustive:
		return v, fmt.Errorf("%w: --exec --strategy exhaustive: what a process keeps cannot be seen, so that no schedule is known to be equal to another", errUsage)
	case f.lease < 10*time.Millisecond:
		return v, fmt.Errorf("%w: --lease %v: time is real, and less than 10ms passes by itself", errUsage, f.lease)
	}
	if f.server, err = f.exec.server(f.server, flags); err == nil {
		v, err = f.exec.probe(ctx)
	}
	v.New = func(impls.Env) (impls.Lock, error) { return nil, impls.ErrUnsupported } // child processes make it
	return v, err
}

// placed returns the faults that a schedule may have: the named ones, or those that a lock of this
// kind must survive and, of a process, that can be done to one.
func (f exploreFlags) placed(v impls.Variant, named bool) ([]string, error) {
	exhaustive := f.strategy.value == search.Exhaustive
	live := func(names []string) []string {
		if !f.exec.given() {
			return names
		}
		return harness.LiveFaults(names, f.exec.fleet.About)
	}
	if !named {
		return live(slices.DeleteFunc(sim.DefaultFaults(v), func(name string) bool { return exhaustive && sim.IsStanding(name) })), nil
	}
	if slices.Equal(f.faults, []string{noFaults}) {
		return nil, nil
	}
	for _, name := range f.faults {
		switch {
		case !slices.Contains(sim.Placeable(), name):
			return nil, fmt.Errorf("%w: --faults: unknown fault %q%s", errUsage, name, cmp.Or(foreign.Hint(name, sim.Placeable()), "; 'lockbench list faults' shows them, and "+noFaults+" means none"))
		case exhaustive && sim.IsStanding(name):
			return nil, fmt.Errorf("%w: --faults %s: an exhaustive search cannot place what is there from the start", errUsage, name)
		case len(live([]string{name})) == 0:
			return nil, fmt.Errorf("%w: --exec --faults %s: a search cannot do that to a process", errUsage, name)
		}
	}
	return f.faults, nil
}

func (a *app) explore(ctx context.Context, f exploreFlags, flags *pflag.FlagSet) error {
	cfg, err := f.config(ctx, flags)
	if err != nil {
		return err
	}
	var rec *found
	explore := a.explorer
	if f.exec.given() {
		explore = func(ctx context.Context, cfg search.Config, tell func(search.Stats)) (r search.Result, err error) {
			r, rec, err = a.exploreLive(ctx, &f, cfg, tell)
			return r, err
		}
	} else {
		a.say("virtual time: no latency figures")
	}
	ctx, stop := a.listen(ctx)
	r, err := explore(stop, cfg, func(s search.Stats) { a.line.show(exploreProgress(cfg, s)) })
	if r.Schema == "" {
		return errors.Join(err, a.ended())
	}
	switch stopped := stop.Err() != nil; {
	case stopped && r.Verdict == checker.Pass:
		r.Verdict, r.Reason = checker.Inconclusive, "interrupted, with no violation in "+report.Plural(r.Schedules, "schedule")
	case stopped && r.Verdict == checker.Inconclusive:
		r.Reason = "interrupted: " + r.Reason
	}
	r.Live, r.Seed, r.Rerun = f.exec.given(), f.seed, again(flags, "explore", "", f.seed)
	if r.First != nil {
		err = errors.Join(err, a.keepFinding(ctx, f, &r, cfg.Program.Variant.Summary, rec))
	}
	a.line.clear()
	interrupted := a.ended()
	return errors.Join(err, show(a, r.Exploration, report.Explore), endError(r.Verdict, false, interrupted != nil), interrupted)
}

// keepFinding saves the tape of a finding, shrinks it, and saves the result in its place, with the
// record of its schedule: rec, or that of the simulator. What cannot be saved is shrunk and shown
// all the same. about says how the lock works.
func (a *app) keepFinding(ctx context.Context, f exploreFlags, r *search.Result, about string, rec *found) error {
	run := results.Run{Argv: a.argv, Seed: f.seed, Lock: r.Lock, Scenario: "explore", Server: cmp.Or(f.server, "sim"), Start: a.now().UTC(), Phase: results.Started}
	var d *results.Dir // nil: it could not be made
	id, err := results.NewID(a.random)
	if run.ID = id; err == nil {
		if d, err = results.Create(f.out, results.Name(run.Start, id, run.Scenario, run.Lock), false); err != nil {
			d = nil
		} else {
			err = d.SaveRun(run)
		}
	}
	err = errors.Join(err, saveTape(d, r))
	if r.Tape.Hash != "" && !f.exec.given() { // without a trace, the lock crashed its process, and would crash this one
		a.line.show("shrinking the tape")
		limited, cancel := context.WithTimeout(ctx, shrinkBudget)
		defer cancel()
		s := sim.New(catalogue.Known{})
		defer s.Close() // never fails
		err = errors.Join(err, shrink(limited, s, r, search.Tries), saveTape(d, r))
		out, again := s.Replay(r.Tape)
		if again == nil && out.Crash == "" {
			rec, again = judgeFinding(ctx, r.Tape, out)
		}
		if again != nil {
			a.say("the record of the finding: %v", again)
		}
	}
	if !f.exec.given() {
		r.GoTest = r.Tape.GoTest()
	}
	if d == nil {
		return err
	}
	switch {
	case r.GoTest != "":
		err = errors.Join(err, d.Save(results.ViolationsPath+"/001_test.go.txt", []byte(r.GoTest)))
	case f.exec.given() && r.First.TapeFile != "":
		r.Replay = results.CommandLine(append([]string{"lockbench", "replay", r.First.TapeFile}, f.exec.words()...))
	}
	took := time.Duration(r.Seconds*float64(time.Second)) + a.now().Sub(run.Start)
	run.Phase, run.Duration, run.LockAbout, run.ScenarioAbout = results.Driven, took, about, aboutSearch
	if rec != nil {
		r.First.Page = d.File(results.ReportFile)
		return errors.Join(err, a.keepRecord(d, run, r.Tape, rec))
	}
	return errors.Join(err, d.Save(results.ViolationsPath+"/001.txt", []byte(strings.Join(r.First.Steps, "\n")+"\n")), d.SaveRun(run))
}

// shrink shrinks the tape of a finding, until ctx ends.
func shrink(ctx context.Context, r sim.Runner, found *search.Result, tries int) error {
	small, err := search.Shrink(ctx, r, found.Tape, tries)
	if len(small.Steps) > 0 {
		found.Keep(small)
	}
	return err
}

// saveTape saves the tape of a finding, unless there is no directory for it.
func saveTape(d *results.Dir, r *search.Result) error {
	if d == nil {
		return nil
	}
	err := d.SaveFunc(results.TapePath, func(w io.Writer) error {
		_, err := r.Tape.WriteTo(w)
		return err
	})
	if err == nil {
		r.First.TapeFile = d.File(results.TapePath)
	}
	return err
}

// exploreProgress returns the status line of a search.
func exploreProgress(cfg search.Config, s search.Stats) string {
	rate := ""
	if s.Elapsed > 0 {
		rate = fmt.Sprintf("%.0f/s", float64(s.Schedules)/s.Elapsed.Seconds())
	}
	return facts("explore "+cfg.Program.Lock, cfg.Strategy, seconds(s.Elapsed), number(s.Schedules, "schedules"), rate,
		number(s.States, "states"), number(s.Findings, "findings"))
}
