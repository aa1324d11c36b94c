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
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// runFlags are the flags of run, as they were given.
type runFlags struct {
	lock, scenario, workload, server, out, sweep, metricsAddr string
	clients, ops, reps                                        int
	clientsAs                                                 choice
	duration, lease                                           time.Duration
	rate                                                      float64
	pace                                                      choice
	locks, max, min                                           []string
	set                                                       []string
	seed                                                      uint64
	exec                                                      execFlags
}

func newRun(a *app) *cobra.Command {
	f := runFlags{clientsAs: newClientsAs(), pace: newPace()}
	c := &cobra.Command{
		Use:   "run --lock NAME [flags]",
		Short: "Run a lock in one scenario and judge it",
		Long: "run drives a lock with concurrent clients under the scenario's faults, judges the record, and keeps it in a\n" +
			"run directory. The first interrupt finishes and judges what was recorded; the second quits.\n\n" +
			"--set changes a value of the scenario: --set think=50ms, --set faults.0.times=2. --max and --min add to the scenario's limits (slo)\n" +
			"one that its figures must keep.",
		Example: "  lockbench run --lock token\n  lockbench run --lock set-nx-ex --scenario pause-holder --seed 8341\n" +
			"  lockbench run --lock token --workload hot --duration 10s --rate 500 -o json\n" +
			"  lockbench run --lock token --scenario pause-holder --sweep pause/lease=0.2..3\n" +
			"  lockbench run --exec 'python3 mylock.py' --scenario pause-holder",
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.sweep != "" {
				return a.sweep(c.Context(), f, c.Flags())
			}
			return a.run(c.Context(), f, c.Flags())
		},
	}
	f.register(a, c)
	return c
}

func (f *runFlags) register(a *app, c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.lock, "lock", "", "the lock to run; 'lockbench list locks' shows them")
	s.StringSliceVar(&f.locks, "locks", nil, "several locks, in turn within each repetition")
	s.StringVar(&f.scenario, "scenario", "steady", "name of a built-in scenario, or a YAML file")
	s.StringVar(&f.workload, "workload", "", "what clients do, in place of the scenario's")
	a.serverFlag(c, &f.server, "auto", "")
	s.IntVar(&f.clients, "clients", 0, "how many clients, in place of the scenario's")
	s.Var(&f.clientsAs, "clients-as", clientsAsUsage)
	s.DurationVar(&f.duration, "duration", 0, "how long, in place of the scenario's length; without it and --ops and --scenario, 10s on real servers, after 1s of warm-up")
	s.IntVar(&f.ops, "ops", 0, "rounds per client, in place of the scenario's length")
	s.Float64Var(&f.rate, "rate", 0, "rounds per second of all clients, begun by plan (open loop); 0: each when the last one ended")
	s.Var(&f.pace, "pace", "of --rate: equal gaps, random ones as of independent users, or a rate that rises to it")
	s.DurationVar(&f.lease, "lease", 0, "the lock's lease, in place of the scenario's")
	s.StringArrayVar(&f.set, "set", nil, "k=v: change a value of the scenario")
	s.StringArrayVar(&f.max, "max", nil, "METRIC=LIMIT: exit 2 when the figure is above it; 'lockbench help metrics' lists them")
	s.StringArrayVar(&f.min, "min", nil, "METRIC=LIMIT: exit 2 when the figure is below it")
	s.Uint64Var(&f.seed, "seed", 0, "random seed (default: random, printed)")
	s.IntVar(&f.reps, "reps", 1, "how often, each time with the next seed")
	s.StringVar(&f.out, "out", results.DefaultBase, "where run directories are made")
	s.StringVar(&f.sweep, "sweep", "", sweepHelp)
	s.StringVar(&f.metricsAddr, "metrics-addr", "", "serve figures for Prometheus at this address while it runs, such as 127.0.0.1:0 (port 0: any that is free)")
	f.exec.register(s)
	c.MarkFlagsMutuallyExclusive("duration", "ops")
	c.MarkFlagsMutuallyExclusive("sweep", "metrics-addr")
	c.MarkFlagsMutuallyExclusive("lock", "locks")
	c.MarkFlagsMutuallyExclusive("locks", "exec")
	c.MarkFlagsMutuallyExclusive("locks", "sweep")
	complete(c, "locks", lockNames)
	complete(c, "clients-as", words(f.clientsAs.allowed...))
	complete(c, "lock", lockNames)
	complete(c, "pace", words(f.pace.allowed...))
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

func plantedNames() []string {
	var names []string
	for _, v := range catalogue.Planted() {
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

// variant finds a lock or a planted bug. groups are other words that the caller accepts.
func variant(name string, groups ...string) (impls.Variant, error) {
	if name == "" {
		return impls.Variant{}, fmt.Errorf("%w: --lock is missing; 'lockbench list locks' shows them", errUsage)
	}
	v, ok := catalogue.Find(name)
	if !ok {
		return impls.Variant{}, fmt.Errorf("%w: there is no lock %q ('lockbench list locks' shows them)%s", errUsage, name,
			suggest.Hint(name, slices.Concat(lockNames(), plantedNames(), groups)))
	}
	return v, nil
}

// leavesLength reports whether neither a scenario nor a length is given. On real servers such a run is long enough for
// latency figures.
func (f runFlags) leavesLength(flags *pflag.FlagSet) bool {
	set := func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "ops" || name == "duration" || name == "warmup"
	}
	return !flags.Changed("scenario") && !flags.Changed("ops") && !flags.Changed("duration") && !slices.ContainsFunc(f.set, set)
}

// scenarioOf loads the scenario and applies the flags that change it.
func (f runFlags) scenarioOf(flags *pflag.FlagSet) (s scenarios.Scenario, err error) {
	if s, err = scenarios.Load(f.scenario); err != nil {
		return s, asInput(err)
	}
	for _, c := range f.changes(flags) {
		if s, err = s.With(c.sets); err != nil {
			return s, asInput(c.blame(err))
		}
	}
	limits, err := gates(f.max, f.min)
	for _, g := range limits {
		s.SLO = append(slices.Clip(s.SLO), g.Text)
	}
	return s, err
}

// change is a change of a scenario by a flag.
type change struct {
	flag string // as it was given, such as --clients -3
	sets []string
}

// blame names the flag in the error of its change. Errors of --set have their own caret.
func (c change) blame(err error) error {
	var wrong *scenarios.Error
	if c.flag != "" && errors.As(err, &wrong) {
		return fmt.Errorf("%s: %s", c.flag, wrong.Message)
	}
	return err
}

// changes turns flags into changes of the scenario, --set last. A length by time takes the place of one by rounds, and the other way
// round.
func (f runFlags) changes(flags *pflag.FlagSet) (all []change) {
	also := map[string]string{"duration": "ops=0", "ops": "duration=0s"}
	for _, name := range []string{"workload", "clients", "lease", "rate", "duration", "ops", "pace"} {
		if !flags.Changed(name) {
			continue
		}
		value := flags.Lookup(name).Value.String()
		c := change{flag: "--" + name + " " + value, sets: []string{name + "=" + value}}
		if other, ok := also[name]; ok {
			c.sets = append(c.sets, other)
		}
		all = append(all, c)
	}
	return append(all, change{sets: f.set})
}

// drawSeed draws a seed that is short enough to type.
func drawSeed(r io.Reader) (uint64, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("seed: %w", err)
	}
	return uint64(binary.LittleEndian.Uint32(b[:]))%1_000_000 + 1, nil
}

func (a *app) run(ctx context.Context, f runFlags, flags *pflag.FlagSet) (err error) {
	variants, err := f.variants()
	if err != nil {
		return err
	}
	e, err := a.experiment(ctx, &f, flags)
	if err != nil {
		return err
	}
	if len(variants) == 0 {
		variants = []impls.Variant{e.Variant}
	}
	figures := newMetrics(e)
	if f.metricsAddr != "" {
		stop, serveErr := a.serveMetrics(ctx, f.metricsAddr, figures)
		if serveErr != nil {
			return serveErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	ctx, interrupts := a.listen(ctx)
	e.Stop, e.Progress = interrupts.stop, func(p harness.Progress) { figures.progress(p); a.line.show(runProgress(e, p)) }
	var all []results.Result
	for i := range f.reps * len(variants) {
		if interrupts.count.Load() > 0 {
			break
		}
		e.Variant = variants[i%len(variants)]
		figures.begin(e.Variant.Name)
		r, runErr := a.once(ctx, e, f.seed+uint64(i/len(variants)), flags)
		err = errors.Join(err, runErr)
		figures.end(r)
		if r != nil {
			all = append(all, *r)
		}
	}
	switch {
	case a.json() && len(all) > 0:
		err = errors.Join(err, a.writeRuns(all, f.reps*len(variants)))
	case len(all) > 1:
		err = errors.Join(err, report.Runs(a.out, together(all), a.style()), report.Failovers(a.out, failoversOf(all)))
	}
	return errors.Join(err, interrupts.end())
}

func failoversOf(all []results.Result) (sum *results.Failovers) {
	for _, r := range all {
		sum = results.SumFailovers(sum, r.Failovers)
	}
	return sum
}

// writeRuns writes the result of one run as an object, and of several as an array.
func (a *app) writeRuns(all []results.Result, asked int) error {
	if asked == 1 {
		return a.writeJSON(all[0])
	}
	return a.writeJSON(all)
}

// experiment turns flags into an experiment. It starts nothing.
func (a *app) experiment(ctx context.Context, f *runFlags, flags *pflag.FlagSet) (e harness.Experiment, err error) {
	if f.reps < 1 {
		return e, fmt.Errorf("%w: --reps %d: must be at least 1", errUsage, f.reps)
	}
	if f.server, err = f.exec.server(f.server, flags); err != nil {
		return e, err
	}
	if e.Variant, err = a.lockOrCommand(ctx, f, flags); err != nil {
		return e, err
	}
	e.Subject = f.exec.fleet
	if e.Scenario, err = f.scenarioOf(flags); err != nil {
		return e, err
	}
	if !flags.Changed("seed") {
		if f.seed, err = drawSeed(a.random); err != nil {
			return e, err
		}
	}
	if e.Provider, e.Chosen, err = a.provider(ctx, f.server, f.exec.providers(a.providers())); err != nil {
		return e, err
	}
	a.announce(e.Provider, e.Chosen)
	if e.Provider.Name() != "sim" && f.leavesLength(flags) {
		if e.Scenario, err = e.Scenario.With([]string{"duration=10s", "warmup=1s", "ops=0"}); err != nil {
			return e, err
		}
	}
	e.As, e.Base, e.Argv, e.Now, e.Random, e.Checkout = harness.ClientsAs(f.clientsAs.value), f.out, a.argv, a.now, a.random, "."
	return e, nil
}

// variants returns the locks of --locks.
func (f *runFlags) variants() (all []impls.Variant, err error) {
	for _, name := range f.locks {
		v, err := variant(name)
		if err != nil {
			return nil, err
		}
		all, f.lock = append(all, v), f.locks[0]
	}
	return all, nil
}

// lockOrCommand returns the named lock, or the one that --exec describes.
func (a *app) lockOrCommand(ctx context.Context, f *runFlags, flags *pflag.FlagSet) (impls.Variant, error) {
	if err := f.exec.check(flags, "lock"); err != nil {
		return impls.Variant{}, err
	}
	if f.exec.given() {
		return f.exec.probe(ctx)
	}
	return variant(f.lock)
}

// once makes one run and shows it. The result is nil if the run was not judged.
func (a *app) once(ctx context.Context, e harness.Experiment, seed uint64, flags *pflag.FlagSet) (*results.Result, error) {
	e.Seed, e.Scenario = seed, e.Scenario.Resolve(seed, e.Variant.Topology)
	e.Rerun = rerun(flags, "run", e.Provider, seed)
	if flags.Changed("locks") {
		e.Rerun = strings.Replace(e.Rerun, "--locks "+values(flags.Lookup("locks"))[0], "--lock "+e.Variant.Name, 1)
	}
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
	err = errors.Join(err, saveViews(out), verdictError(out.Result.Verdict), gateError(out.Result.Gates))
	if !a.json() {
		err = errors.Join(err, report.Run(a.out, out.Result, out.Dir, a.style()))
	}
	return &out.Result, errors.Join(err,
		a.tellGitHub(func(w io.Writer) error { return report.RunMarkdown(w, out.Result) }),
		a.annotate(func(w io.Writer) error { return report.RunAnnotations(w, out.Result) }))
}

func (a *app) keptNote(dir string) {
	if dir != "" {
		a.say("what was recorded is kept in %s", dir)
	}
}

// saveViews writes the reports into the run directory. A run that failed before it was judged has
// none.
func saveViews(out *harness.Outcome) error {
	if out.Dir == "" || out.Verdict == nil {
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
	return errors.Join(err, saveRunViews(d, &out.Result))
}

// pictures is how many of a run's violations are drawn as pages; every one is written as text.
const pictures = 5

// savePictures draws the first violations. A picture that fails is noted, and changes no verdict.
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

// rerun returns the command that repeats a run: the given flags, the server used, the seed.
func rerun(flags *pflag.FlagSet, verb string, p servers.Provider, seed uint64) string {
	if p.Name() == "url" {
		return again(flags, verb, "", seed)
	}
	return again(flags, verb, p.Name(), seed)
}

// again is rerun with the name of the server; "" keeps the flag as given.
func again(flags *pflag.FlagSet, verb, server string, seed uint64) string {
	words := []string{"lockbench", verb}
	flags.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "seed", "out", "output", "quiet", "keep-all", "metrics-addr":
			return
		case "reps":
			if verb == "run" { // each repetition has a seed of its own
				return
			}
		case "server":
			if server != "" {
				return
			}
		}
		if flag.Value.Type() == "bool" { // its value would be taken for an argument
			words = append(words, strings.TrimSuffix("--"+flag.Name+"="+flag.Value.String(), "=true"))
			return
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

// values returns the values of a flag, one for each time it is given. A list is one value, except for flags that are repeated.
func values(flag *pflag.Flag) []string {
	list, ok := flag.Value.(pflag.SliceValue)
	switch {
	case !ok:
		return []string{flag.Value.String()}
	case flag.Value.Type() != "stringArray":
		return []string{strings.Join(list.GetSlice(), ",")}
	}
	return list.GetSlice()
}

// runProgress returns the status line of a run, most important first, because a narrow terminal cuts the rest.
func runProgress(e harness.Experiment, p harness.Progress) string {
	parts := []string{elapsed(p), pace(e.Scenario.Rate, p), number(p.Overlaps, "overlapping uses")}
	if p.Current != "" {
		parts = append(parts, "now: "+p.Current)
	}
	if p.P99 > 0 {
		parts = append(parts, "p50 "+report.Span(p.P50)+" p99 "+report.Span(p.P99))
	}
	parts = append(parts, granted(p), number(p.Refused, "refused"), number(p.Failed, "failed"), number(p.Unknown, "unknown"), number(p.Faults, "faults"))
	return facts(append(parts, e.Variant.Name+" × "+e.Scenario.Name)...)
}

// elapsed formats the phase and the time spent in it.
func elapsed(p harness.Progress) string {
	text := p.Phase + " " + seconds(p.Elapsed)
	if p.Total > 0 {
		text += "/" + seconds(p.Total)
	}
	return text
}

// pace formats the rate of grants, and the offered rate if there is one.
func pace(offered float64, p harness.Progress) string {
	if p.Elapsed <= 0 || p.Rounds == 0 {
		return ""
	}
	achieved := fmt.Sprintf("%.0f", float64(p.Rounds)/p.Elapsed.Seconds())
	if offered > 0 {
		return fmt.Sprintf("%s of %g/s", achieved, offered)
	}
	return achieved + "/s"
}

// granted formats how many acquires were granted, of how many.
func granted(p harness.Progress) string {
	if p.Rounds > 0 && p.Expected > 0 {
		return fmt.Sprintf("%d/%d granted", p.Rounds, p.Expected)
	}
	return number(p.Rounds, "granted")
}
