package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

// runFlags are the flags of run, as they were given.
type runFlags struct {
	lock, scenario, workload, server, out, metricsAddr string
	clients, ops, reps                                 int
	clientsAs                                          choice
	duration, lease                                    time.Duration
	rate                                               float64
	pace                                               choice
	max, min, set                                      []string
	seed                                               uint64
	exec                                               execFlags
}

func newRun(a *app) *cobra.Command {
	f := runFlags{clientsAs: newClientsAs(), pace: newChoice(workloads.Constant, workloads.Paces()...)}
	c := &cobra.Command{
		Use:   "run --lock NAME [flags]",
		Short: "Run a lock in one scenario and judge it",
		Long: "run drives a lock with concurrent clients under the scenario's faults, judges the record, and keeps it in a\n" +
			"run directory. The first interrupt finishes and judges what was recorded; the second quits.\n\n" +
			"--set changes a value of the scenario: --set think=50ms, --set faults.0.times=2.\n" +
			"--max and --min add limits for figures to those of the scenario (slo).",
		Example: "  lockbench run --lock token\n  lockbench run --lock set-nx-ex --scenario pause-holder --seed 8341\n" +
			"  lockbench run --lock token --workload hot --duration 10s --rate 500 -o json\n" +
			"  lockbench run --exec 'python3 mylock.py' --scenario pause-holder",
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.run(c.Context(), f, c.Flags())
		},
	}
	s := c.Flags()
	s.StringVar(&f.lock, "lock", "", "the lock to run; 'lockbench list locks' shows them")
	s.StringVar(&f.scenario, "scenario", "steady", "name of a built-in scenario, or a YAML file")
	s.StringVar(&f.workload, "workload", "", "what clients do, in place of the scenario's")
	a.serverFlag(c, &f.server, "auto", "")
	s.IntVar(&f.clients, "clients", 0, "how many clients, in place of the scenario's")
	s.Var(&f.clientsAs, "clients-as", clientsAsUsage)
	s.DurationVar(&f.duration, "duration", 0, "how long, in place of the scenario's length; without it and --ops and --scenario, 10s on real servers, after 1s of warm-up")
	s.IntVar(&f.ops, "ops", 0, "rounds per client, in place of the scenario's length")
	s.Float64Var(&f.rate, "rate", 0, "rounds per second of all clients, begun by plan (open loop); 0: each when the last one ended")
	s.Var(&f.pace, "pace", "how --rate spaces rounds: equal gaps, random gaps (as of independent users), or a rate that rises to it")
	s.DurationVar(&f.lease, "lease", 0, "the lock's lease, in place of the scenario's")
	s.StringArrayVar(&f.set, "set", nil, "k=v: change a value of the scenario")
	s.StringArrayVar(&f.max, "max", nil, "METRIC=LIMIT: exit 2 when the figure is above it; 'lockbench help metrics' lists them")
	s.StringArrayVar(&f.min, "min", nil, "METRIC=LIMIT: exit 2 when the figure is below it")
	s.Uint64Var(&f.seed, "seed", 0, "random seed (default: random, printed)")
	s.IntVar(&f.reps, "reps", 1, "how often, each time with the next seed")
	s.StringVar(&f.out, "out", results.DefaultBase, "where run directories are made")
	s.StringVar(&f.metricsAddr, "metrics-addr", "", "serve figures for Prometheus at this address while it runs, such as 127.0.0.1:0 (port 0: any that is free)")
	f.exec.register(s)
	c.MarkFlagsMutuallyExclusive("duration", "ops")
	return c
}

// drawSeed draws a seed that is short enough to type, unless one was given.
func (a *app) drawSeed(flags *pflag.FlagSet, seed *uint64) error {
	if flags.Changed("seed") {
		return nil
	}
	var b [4]byte
	if _, err := io.ReadFull(a.random, b[:]); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	*seed = uint64(binary.LittleEndian.Uint32(b[:]))%1_000_000 + 1
	return nil
}

func (a *app) run(ctx context.Context, f runFlags, flags *pflag.FlagSet) (err error) {
	e, err := a.runExperiment(ctx, &f, flags)
	if err != nil {
		return err
	}
	figures := newMetrics(e)
	if f.metricsAddr != "" {
		stop, serveErr := a.serveMetrics(ctx, f.metricsAddr, figures)
		if serveErr != nil {
			return serveErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	ctx, stop := a.listen(ctx)
	e.Stop, e.Progress = stop.Done(), func(p harness.Progress) { figures.progress(p); a.line.show(runProgress(e, p)) }
	all := []results.Result{}
	for i := range f.reps {
		if stop.Err() != nil {
			break
		}
		r, runErr := a.once(ctx, e, f.seed+uint64(i), flags)
		err = errors.Join(err, runErr)
		figures.end(r)
		if r != nil {
			all = append(all, *r)
		}
	}
	switch {
	case a.json() && len(all) > 0 && f.reps == 1:
		err = errors.Join(err, a.writeJSON(all[0]))
	case a.json() && len(all) > 0:
		err = errors.Join(err, a.writeJSON(all))
	case len(all) > 1:
		err = errors.Join(err, report.Verdicts(a.out, all, a.style()))
	}
	return errors.Join(err, a.ended())
}

// runExperiment turns flags into an experiment. It starts nothing but the command of --exec, once.
func (a *app) runExperiment(ctx context.Context, f *runFlags, flags *pflag.FlagSet) (e harness.Experiment, err error) {
	if f.reps < 1 {
		return e, fmt.Errorf("%w: --reps %d: must be at least 1", errUsage, f.reps)
	}
	if f.server, err = f.exec.server(f.server, flags); err != nil {
		return e, err
	}
	if err := f.exec.check(flags, "lock"); err != nil {
		return e, err
	}
	v, err := f.exec.lock(ctx, f.lock)
	if err != nil {
		return e, err
	}
	s, err := f.scenarioOf(flags, v.Topology)
	if err != nil {
		return e, err
	}
	if err := a.drawSeed(flags, &f.seed); err != nil {
		return e, err
	}
	p, why, err := a.provider(ctx, f.server, f.exec.given())
	if err != nil {
		return e, err
	}
	length := func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		return name == "ops" || name == "duration" || name == "warmup"
	}
	given := flags.Changed("scenario") || flags.Changed("ops") || flags.Changed("duration") || slices.ContainsFunc(f.set, length)
	if !harness.Simulates(p) && !given { // long enough for latencies
		s.Length, s.WarmUp, s.Ops = faults.Span{Fixed: 10 * time.Second}, faults.Span{Fixed: time.Second}, 0
		if err := s.Validate(); err != nil {
			return e, err
		}
	}
	e = a.experiment(p, why, f.out)
	e.Variant, e.Scenario, e.Subject, e.As = v, s, f.exec.fleet, harness.ClientsAs(f.clientsAs.value)
	return e, nil
}

// once makes one run and shows it. The result is nil if the run was not judged.
func (a *app) once(ctx context.Context, e harness.Experiment, seed uint64, flags *pflag.FlagSet) (*results.Result, error) {
	e.Seed, e.Scenario = seed, e.Scenario.Resolve(seed, e.Variant.Topology)
	e.Rerun = rerun(flags, "run", e.Provider, seed)
	out, err := a.runner(ctx, e)
	a.line.clear()
	if out == nil {
		return nil, err
	}
	if err != nil && out.Dir != "" {
		a.say("what was recorded is kept in %s", out.Dir)
	}
	if out.Result.Schema == "" {
		return nil, err
	}
	r := runRecord(out.Dir, out.Run, &out.Result)
	if err = errors.Join(err, saveViews(out)); err != nil {
		a.line.print("lockbench: this verdict could not be saved whole, see below")
	}
	err = errors.Join(err, runError(out))
	if !a.json() {
		err = errors.Join(err, a.show(r))
	}
	return &out.Result, errors.Join(err, a.summarize(r.forms["md"]))
}

func runError(out *harness.Outcome) error {
	r := out.Result
	return endError(r.Verdict, !r.Broken(), r.Reason == judge.Interrupted && out.Verdict.Verdict == checker.Pass && results.GatesVerdict(r.Gates) == checker.Pass)
}

// scenarioOf loads the scenario, for a lock of this topology, and applies the flags that change it,
// one after the other. A length by time and one by rounds take each other's place.
func (f runFlags) scenarioOf(flags *pflag.FlagSet, own impls.Topology) (s scenarios.Scenario, err error) {
	if len(f.set) > 0 {
		own = "" // they may change the topology, and the node of a fault
	}
	if s, err = scenarios.LoadOn(f.scenario, own); err != nil {
		return s, asInput(err)
	}
	for _, name := range []string{"workload", "clients", "lease", "rate", "duration", "ops", "pace"} {
		flag := flags.Lookup(name)
		if !flag.Changed {
			continue
		}
		switch name {
		case "workload":
			s.Workload = f.workload
		case "clients":
			s.Clients = f.clients
		case "lease":
			s.Lease = faults.Span{Fixed: f.lease}
		case "rate":
			s.Rate = f.rate
		case "duration":
			s.Length, s.Ops = faults.Span{Fixed: f.duration}, 0
		case "ops":
			s.Ops, s.Length = f.ops, faults.Span{}
		case "pace":
			s.Pace = workloads.Pace(f.pace.value)
		}
		if err := s.Validate(); err != nil {
			var wrong *scenarios.Error
			switch value := flag.Value.String(); {
			case !errors.As(err, &wrong):
			case strings.Contains(wrong.Message, strconv.Quote(value)): // which names it
				err = fmt.Errorf("--%s: %s", name, wrong.Message)
			default:
				err = fmt.Errorf("--%s %s: %s", name, value, wrong.Message)
			}
			return s, asInput(err)
		}
	}
	if s, err = s.With(f.set); err != nil {
		return s, asInput(err)
	}
	limits, err := gates(f.max, f.min)
	for _, g := range limits {
		s.SLO = append(slices.Clip(s.SLO), g.Text)
	}
	return s, err
}
