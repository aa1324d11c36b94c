package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// runFlags are the flags of run, as they were given.
type runFlags struct {
	lock, scenario, workload, server, out, sweep string
	clients, ops, reps                           int
	clientsAs                                    choice
	duration, lease                              time.Duration
	rate                                         float64
	set                                          []string
	seed                                         uint64
}

func newRun(a *app) *cobra.Command {
	f := runFlags{clientsAs: newClientsAs()}
	c := &cobra.Command{
		Use:   "run --lock NAME [flags]",
		Short: "Run one lock in one scenario and judge it",
		Long: "run drives a lock with concurrent clients while the scenario's faults strike, judges what was recorded, and keeps it in a\n" +
			"run directory. The first interrupt finishes and judges what was recorded; the second quits.\n\n" +
			"--set changes a value of the scenario (--set think=50ms, --set faults.0.for=\"2 lease\"), or with the prefix lock. a\n" +
			"setting of the lock (--set lock.defaults=library).",
		Example: "  lockbench run --lock token\n  lockbench run --lock set-nx-ex --scenario pause-holder --seed 8341\n" +
			"  lockbench run --lock token --workload hot --clients 16 --duration 10s --rate 500 -o json\n" +
			"  lockbench run --lock token --scenario pause-holder --sweep pause/lease=0.2..3.0 --server sim",
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.sweep != "" {
				return a.sweep(c.Context(), f, c.Flags())
			}
			return a.run(c.Context(), f, c.Flags())
		},
	}
	f.register(c)
	return c
}

func (f *runFlags) register(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.lock, "lock", "", "the lock to run; 'lockbench list locks' shows them")
	s.StringVar(&f.scenario, "scenario", "steady", "name of a built-in scenario, or a YAML file")
	s.StringVar(&f.workload, "workload", "", "what clients do, in place of the scenario's")
	serverFlag(c, &f.server, "auto", "")
	s.IntVar(&f.clients, "clients", 0, "how many clients, in place of the scenario's")
	s.Var(&f.clientsAs, "clients-as", clientsAsUsage)
	s.DurationVar(&f.duration, "duration", 0, "how long, in place of the scenario's length")
	s.IntVar(&f.ops, "ops", 0, "rounds per client, in place of the scenario's length")
	s.Float64Var(&f.rate, "rate", 0, "rounds per second of all clients, begun by plan (open loop); 0: each when the last one ended")
	s.DurationVar(&f.lease, "lease", 0, "the lock's lease, in place of the scenario's")
	s.StringArrayVar(&f.set, "set", nil, "k=v: change a value of the scenario, or of the lock with the prefix lock.")
	s.Uint64Var(&f.seed, "seed", 0, "of every choice that is drawn; without it one is drawn and shown")
	s.IntVar(&f.reps, "reps", 1, "how often, each time with the next seed")
	s.StringVar(&f.out, "out", results.DefaultBase, "where run directories are made")
	s.StringVar(&f.sweep, "sweep", "", sweepHelp)
	c.MarkFlagsMutuallyExclusive("duration", "ops")
	complete(c, "clients-as", words(f.clientsAs.allowed...))
	complete(c, "lock", lockNames)
	complete(c, "scenario", scenarioNames)
	complete(c, "workload", workloadNames)
}

func lockNames() []string {
	var names []string
	for _, v := range catalogue.Locks() {
		names = append(names, v.Name)
	}
	return names
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios.Builtin() {
		names = append(names, s.Name)
	}
	return names
}

func workloadNames() []string {
	var names []string
	for _, w := range workloads.All() {
		names = append(names, w.Name())
	}
	return names
}

// variant finds a lock or a planted bug.
func variant(name string) (impls.Variant, error) {
	if name == "" {
		return impls.Variant{}, fmt.Errorf("%w: --lock is missing; 'lockbench list locks' shows them", errUsage)
	}
	v, ok := catalogue.Find(name)
	if !ok {
		return impls.Variant{}, fmt.Errorf("%w: there is no lock %q; 'lockbench list locks' shows them", errUsage, name)
	}
	return v, nil
}

// scenarioOf loads the scenario and changes what flags change; settings are those of the lock.
func (f runFlags) scenarioOf(flags *pflag.FlagSet) (s scenarios.Scenario, settings map[string]string, err error) {
	if s, err = scenarios.Load(f.scenario); err != nil {
		return s, nil, asInput(err)
	}
	sets, settings := f.changes(flags)
	if s, err = s.With(sets); err != nil {
		return s, nil, asInput(err)
	}
	return s, settings, nil
}

// changes turns flags into changes of the scenario. A length by time takes the place of one by rounds, and the other way round.
func (f runFlags) changes(flags *pflag.FlagSet) (sets []string, settings map[string]string) {
	for name, value := range map[string]string{
		"workload": f.workload, "clients": strconv.Itoa(f.clients), "lease": f.lease.String(), "rate": strconv.FormatFloat(f.rate, 'g', -1, 64),
	} {
		if flags.Changed(name) {
			sets = append(sets, name+"="+value)
		}
	}
	if flags.Changed("duration") {
		sets = append(sets, "duration="+f.duration.String(), "ops=0")
	}
	if flags.Changed("ops") {
		sets = append(sets, "ops="+strconv.Itoa(f.ops), "duration=0s")
	}
	settings = map[string]string{}
	for _, set := range f.set {
		if of, ok := strings.CutPrefix(set, "lock."); ok {
			name, value, _ := strings.Cut(of, "=")
			settings[name] = value
			continue
		}
		sets = append(sets, set)
	}
	return sets, settings
}

// drawSeed draws one that is short enough to be typed again.
func drawSeed(r io.Reader) (uint64, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("seed: %w", err)
	}
	return uint64(binary.LittleEndian.Uint32(b[:]))%1_000_000 + 1, nil
}

func (a *app) run(ctx context.Context, f runFlags, flags *pflag.FlagSet) error {
	e, err := a.experiment(ctx, &f, flags)
	if err != nil {
		return err
	}
	ctx, interrupts := a.listen(ctx)
	e.Stop, e.Progress = interrupts.stop, func(p harness.Progress) { a.line.show(runProgress(e, p)) }
	var all []results.Result
	for rep := range f.reps {
		if interrupts.count.Load() > 0 {
			break
		}
		r, runErr := a.once(ctx, e, f.seed+uint64(rep), flags)
		err = errors.Join(err, runErr)
		if r != nil {
			all = append(all, *r)
		}
	}
	switch {
	case a.json() && len(all) > 0:
		err = errors.Join(err, a.writeRuns(all, f.reps))
	case len(all) > 1:
		err = errors.Join(err, report.Failovers(a.out, failoversOf(all)))
	}
	return errors.Join(err, interrupts.end())
}

func failoversOf(all []results.Result) (sum *results.Failovers) {
	for _, r := range all {
		sum = results.SumFailovers(sum, r.Failovers)
	}
	return sum
}

// writeRuns writes one result as it is, and several as an array.
func (a *app) writeRuns(all []results.Result, reps int) error {
	if reps == 1 {
		return a.writeJSON(all[0])
	}
	return a.writeJSON(all)
}

// experiment turns flags into an experiment that can be run. Nothing has been started when it fails.
func (a *app) experiment(ctx context.Context, f *runFlags, flags *pflag.FlagSet) (e harness.Experiment, err error) {
	if f.reps < 1 {
		return e, fmt.Errorf("%w: --reps %d: must be at least 1", errUsage, f.reps)
	}
	if e.Variant, err = variant(f.lock); err != nil {
		return e, err
	}
	if e.Scenario, e.Settings, err = f.scenarioOf(flags); err != nil {
		return e, err
	}
	if !flags.Changed("seed") {
		if f.seed, err = drawSeed(a.random); err != nil {
			return e, err
		}
	}
	if e.Provider, e.Chosen, err = provider(ctx, f.server, a.providers()); err != nil {
		return e, err
	}
	a.announce(e.Provider, e.Chosen)
	e.As, e.Base, e.Argv, e.Now, e.Random, e.Checkout = harness.ClientsAs(f.clientsAs.value), f.out, a.argv, a.now, a.random, "."
	return e, nil
}

// once makes one run and shows it. The result is nil when there is none.
func (a *app) once(ctx context.Context, e harness.Experiment, seed uint64, flags *pflag.FlagSet) (*results.Result, error) {
	e.Seed, e.Scenario = seed, e.Scenario.Resolve(seed, e.Variant.Topology)
	e.Rerun = rerun(flags, "run", e.Provider, seed)
	hash, err := e.Scenario.Hash(seed)
	if err != nil {
		return nil, err
	}
	e.PlanHash = hash
	out, err := a.runner(ctx, e)
	a.line.clear()
	if out == nil {
		return nil, err
	}
	if err != nil {
		a.keptNote(out.Dir)
	}
	if out.Result.Schema == "" {
		return nil, err
	}
	a.savePictures(out)
	err = errors.Join(err, saveViews(out), verdictError(out.Result.Verdict))
	if !a.json() {
		err = errors.Join(err, report.Run(a.out, out.Result, out.Dir, a.style()))
	}
	return &out.Result, err
}

func (a *app) keptNote(dir string) {
	if dir != "" {
		a.say("what was recorded is kept in %s", dir)
	}
}

// saveViews puts what people read into the run directory. It is derived from what is there already.
func saveViews(out *harness.Outcome) error {
	if out.Dir == "" {
		return nil
	}
	d, err := results.Open(out.Dir)
	if err != nil {
		return err
	}
	err = d.SaveFunc(results.SummaryFile, func(w io.Writer) error { return report.RunMarkdown(w, out.Result) })
	for i, v := range out.Verdict.Violations {
		name := fmt.Sprintf("%s/%03d.txt", results.ViolationsPath, i+1)
		err = errors.Join(err, d.SaveFunc(name, func(w io.Writer) error { return report.Violation(w, v) }))
	}
	return err
}

// pictures is how many of a run's violations are drawn as pages; every one is told as text.
const pictures = 5

// savePictures draws the first violations. A picture that cannot be had changes nothing about the verdict, and is said.
func (a *app) savePictures(out *harness.Outcome) {
	if out.Dir == "" {
		return
	}
	d, err := results.Open(out.Dir)
	for i := 0; err == nil && i < min(pictures, len(out.Verdict.Violations)); i++ {
		v := &out.Verdict.Violations[i]
		err = d.SaveFunc(fmt.Sprintf("%s/%03d.html", results.ViolationsPath, i+1), func(w io.Writer) error { return checker.WritePicture(w, v) })
		if errors.Is(err, checker.ErrNoPicture) {
			err = nil
		}
	}
	if err != nil {
		a.say("pictures of the violations: %v", err)
	}
}

// rerun is the command that does the same again: the flags that were given, the server that was used, the seed.
func rerun(flags *pflag.FlagSet, verb string, p servers.Provider, seed uint64) string {
	if p.Name() == "url" {
		return again(flags, verb, "", seed)
	}
	return again(flags, verb, p.Name(), seed)
}

// again is rerun with a server that was settled by its name; "" leaves the flag as it was given.
func again(flags *pflag.FlagSet, verb, server string, seed uint64) string {
	words := []string{"lockbench", verb}
	flags.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "seed", "reps", "out", "output", "quiet":
			return
		case "server":
			if server != "" {
				return
			}
		}
		for _, v := range values(flag) {
			words = append(words, "--"+flag.Name, v)
		}
	})
	if server != "" {
		words = append(words, "--server", server)
	}
	return results.CommandLine(append(words, "--seed", strconv.FormatUint(seed, 10)))
}

// values gives what is to stand behind each --flag: a list of words stands behind one, other lists repeat the flag.
func values(flag *pflag.Flag) []string {
	list, ok := flag.Value.(pflag.SliceValue)
	switch {
	case !ok:
		return []string{flag.Value.String()}
	case flag.Value.Type() == "stringSlice":
		return []string{strings.Join(list.GetSlice(), ",")}
	}
	return list.GetSlice()
}

// runProgress is what stands on the status line of a run.
func runProgress(e harness.Experiment, p harness.Progress) string {
	parts := []string{e.Variant.Name + " × " + e.Scenario.Name, p.Phase, seconds(p.Elapsed), number(p.Rounds, "granted")}
	if p.Elapsed > 0 && p.Rounds > 0 {
		parts = append(parts, fmt.Sprintf("%.0f/s", float64(p.Rounds)/p.Elapsed.Seconds()))
	}
	if p.P99 > 0 {
		parts = append(parts, "acquire p50 "+report.Span(p.P50)+" p99 "+report.Span(p.P99))
	}
	parts = append(parts, number(p.Refused, "refused"), number(p.Unknown, "unknown"), number(p.Faults, "faults"))
	if p.Current != "" {
		parts = append(parts, "now: "+p.Current)
	}
	return facts(parts...)
}
