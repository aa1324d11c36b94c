package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// benchFlags are the flags of bench, as they were given.
type benchFlags struct {
	locks                       []string
	clients, keys               []int
	holds                       []time.Duration
	rate                        float64
	pace                        choice
	rates, findRate             string
	duration, warmup            time.Duration
	reps                        int
	lease, poll                 time.Duration
	server, reference, scenario string
	crash, greedy, details      bool
	max, min                    []string
	baseline, store, out        string
	threshold, slow             float64
	allowEnvDiff                bool
	seed                        uint64
	shard                       shardFlag
	exec                        execFlags
}

func newBench(a *app) *cobra.Command {
	f := benchFlags{pace: newPace()}
	c := &cobra.Command{
		Use:   "bench {--locks NAME,NAME… | --exec COMMAND} [flags]",
		Short: "Measure what locks cost, side by side",
		Long: "bench measures locks on the same servers, over connections of one make, in\n" +
			"repetitions that take turns, beside a bare loop of the commands that a simple\n" +
			"lock comes down to. It says first how long it will take. Every repetition is\n" +
			"also checked, and the verdict stands beside the figures.\n\n" +
			"Clients that compete for one key hand it over: a client acquires again only\n" +
			"after another was granted, so that no lock looks quick by granting itself to\n" +
			"its last holder. --greedy lets it acquire at once. --rate and --rates\n" +
			"start holds by plan, and latencies count from the planned start.\n\n" +
			"'lockbench help metrics' lists what --max, --min and --find-rate take.",
		Example: "  lockbench bench --locks token,redisson,rueidislock\n" +
			"  lockbench bench --locks token,fair --clients 8 --hold 0,2ms --duration 30s\n" +
			"  lockbench bench --locks token --clients 8 --rates 100..5000\n" +
			"  lockbench bench --locks token,fair --clients 8 --find-rate 'p99<20ms'\n" +
			"  lockbench bench --locks token --store base.json\n" +
			"  lockbench bench --locks token --baseline base.json --max acquire.p99=20ms",
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return a.bench(c.Context(), f, c.Flags()) },
	}
	f.register(a, c)
	f.exec.register(c.Flags())
	return c
}

func (f *benchFlags) register(a *app, c *cobra.Command) {
	s := c.Flags()
	s.StringSliceVar(&f.locks, "locks", nil, "the locks to measure; 'lockbench list locks' shows them")
	s.IntSliceVar(&f.clients, "clients", []int{1, 8}, "how many clients, one setting for each")
	s.IntSliceVar(&f.keys, "keys", []int{1}, "of how many keys each hold draws one")
	s.DurationSliceVar(&f.holds, "hold", []time.Duration{0}, "how long each hold lasts")
	s.Float64Var(&f.rate, "rate", 0, "holds per second of all clients, begun by plan; 0: each when the last one ended")
	s.Var(&f.pace, "pace", "of --rate and --rates: equal gaps, random ones as of independent users, or a rate that rises to it")
	s.StringVar(&f.rates, "rates", "", "several rates: 100,200,400, or A..B for six between them")
	s.StringVar(&f.findRate, "find-rate", "", "look for the highest rate that keeps a limit, such as 'p99<20ms'; with --rates A..B, between those")
	s.DurationVar(&f.duration, "duration", 10*time.Second, "measured time of each lock in each setting, its repetitions together")
	s.DurationVar(&f.warmup, "warmup", time.Second, "unmeasured time before that, likewise")
	s.IntVar(&f.reps, "reps", 10, "repetitions; intervals need 6")
	s.DurationVar(&f.lease, "lease", 30*time.Second, "the locks' lease")
	s.DurationVar(&f.poll, "poll", impls.DefaultPoll, "time between tries of locks that poll")
	a.serverFlag(c, &f.server, "auto", "")
	s.StringVar(&f.reference, "reference", "", "the lock that others are compared with (default: the bare command loop)")
	s.StringVar(&f.scenario, "scenario", "", "a scenario whose faults happen in every repetition, with its lease and without warm-up unless these are given")
	s.BoolVar(&f.crash, "crash", false, "also crash a holder, and measure how soon its lock is granted again")
	s.BoolVar(&f.greedy, "greedy", false, "a client that released may acquire again at once")
	s.BoolVar(&f.details, "details", false, "list every figure with its interval")
	s.StringArrayVar(&f.max, "max", nil, "METRIC=LIMIT: exit 2 when a lock's figure is above it")
	s.StringArrayVar(&f.min, "min", nil, "METRIC=LIMIT: exit 2 when a lock's figure is below it")
	s.StringVar(&f.baseline, "baseline", "", "a stored bench to compare with: exit 2 when a lock became slower; where noise hides that, up to three times the repetitions are taken")
	s.StringVar(&f.store, "store", "", "a file to write the bench to, for a later --baseline")
	s.Float64Var(&f.threshold, "threshold", bench.DefaultThreshold, "least relative change that counts as slower")
	s.Float64Var(&f.slow, "slow", 0, "make every lock take this share longer, such as 0.2, to see that --baseline notices")
	s.BoolVar(&f.allowEnvDiff, "allow-env-diff", false, "compare with a baseline of another machine")
	s.Uint64Var(&f.seed, "seed", 0, "random seed (default: random, printed)")
	s.Var(&f.shard, "shard", "measure only this share of the settings, such as 1/3; 'lockbench merge' joins the shards")
	s.StringVar(&f.out, "out", results.DefaultBase, "where the bench's directory is made")
	complete(c, "locks", lockNames)
	complete(c, "scenario", scenarioNames)
	complete(c, "pace", words(f.pace.allowed...))
	c.MarkFlagsMutuallyExclusive("rate", "rates")
	c.MarkFlagsMutuallyExclusive("rate", "find-rate")
}

// rateSteps is how many rates A..B stands for.
const rateSteps = 6

// parseRates reads "100,200" or "100..5000".
func parseRates(text string) ([]float64, error) {
	low, high, spread := strings.Cut(text, "..")
	words := strings.Split(text, ",")
	if spread {
		words = []string{low, high}
	}
	var out []float64
	for _, w := range words {
		v, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil || !(v > 0 && v < 1e9) {
			return nil, fmt.Errorf("%w: --rates %s: want rates above 0, such as 100,500 or 100..5000", errUsage, text)
		}
		out = append(out, v)
	}
	if !spread {
		return out, nil
	}
	if out[0] >= out[1] {
		return nil, fmt.Errorf("%w: --rates %s: the first rate must be the lower one", errUsage, text)
	}
	return bench.Steps(out[0], out[1], rateSteps), nil
}

// config turns flags into a plan. It starts nothing.
func (f *benchFlags) config(ctx context.Context, flags *pflag.FlagSet) (c bench.Config, err error) {
	if len(f.locks) == 0 && !f.exec.given() {
		return c, fmt.Errorf("%w: --locks is missing; 'lockbench list locks' shows them", errUsage)
	}
	if err := f.exec.check(flags, ""); err != nil {
		return c, err
	}
	for _, name := range f.locks {
		v, err := variant(name)
		if err != nil {
			return c, err
		}
		if slices.ContainsFunc(c.Locks, func(o impls.Variant) bool { return o.Name == v.Name }) {
			return c, fmt.Errorf("%w: --locks names %s twice", errUsage, v.Name)
		}
		c.Locks = append(c.Locks, v)
	}
	if err := f.positive(); err != nil {
		return c, err
	}
	if flags.Changed("pace") && f.paceOf() == "" {
		return c, fmt.Errorf("%w: --pace is of --rate, --rates or --find-rate, and none is given", errUsage)
	}
	if f.rate > 0 {
		c.Rates = []float64{f.rate}
	}
	if f.rates != "" {
		if c.Rates, err = parseRates(f.rates); err != nil {
			return c, err
		}
	}
	if f.findRate != "" {
		g, err := results.ParseGate(f.findRate)
		if err != nil {
			return c, fmt.Errorf("%w: --find-rate: %w", errUsage, err)
		}
		c.Find = &g
	}
	if f.scenario != "" {
		s, err := scenarios.Load(f.scenario)
		if err != nil {
			return c, asInput(err)
		}
		c.Scenario, c.Faults, c.Topology = s.Name, s.Faults, s.Topology
		if !flags.Changed("lease") { // its faults last so and so many leases
			f.lease = s.Lease.Fixed
		}
		if !flags.Changed("warmup") { // in which the first ones would be over
			f.warmup = 0
		}
	}
	c.Reference, c.Clients, c.Keys, c.Holds = f.reference, f.clients, f.keys, f.holds
	c.Duration, c.WarmUp, c.Repetitions, c.Lease, c.Poll = f.duration, f.warmup, f.reps, f.lease, f.poll
	c.Crash, c.Greedy, c.Slow, c.Seed, c.Pace = f.crash, f.greedy, f.slow, f.seed, f.paceOf()
	c.Shard = f.shard.given
	if f.exec.given() {
		if err := f.child(ctx, &c); err != nil {
			return c, err
		}
	}
	if f.reference != "" && !slices.ContainsFunc(c.Locks, func(v impls.Variant) bool { return v.Name == f.reference }) {
		return c, fmt.Errorf("%w: --reference %s is not among the locks that are measured", errUsage, f.reference)
	}
	return c, nil
}

// paceOf is the pace of an open loop; a closed one has none.
func (f *benchFlags) paceOf() workloads.Pace {
	if f.rate == 0 && f.rates == "" && f.findRate == "" {
		return ""
	}
	return workloads.Pace(f.pace.value)
}

// child adds the lock of --exec to those of --locks.
func (f *benchFlags) child(ctx context.Context, c *bench.Config) error {
	if f.slow > 0 {
		return fmt.Errorf("%w: --slow is for locks of --locks: what another process does cannot be made longer", errUsage)
	}
	v, err := f.exec.probe(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(c.Locks, func(o impls.Variant) bool { return o.Name == v.Name }) {
		return fmt.Errorf("%w: --exec calls itself %s, as a lock of --locks does", errUsage, v.Name)
	}
	f.locks = append(f.locks, v.Name)
	c.Locks, c.Subject = append(c.Locks, v), f.exec.fleet
	return nil
}

// positive rejects numbers out of range.
func (f benchFlags) positive() error {
	bad := func(flag string, v any) error {
		return fmt.Errorf("%w: --%s %v: must be more than 0", errUsage, flag, v)
	}
	for _, n := range f.clients {
		if n < 1 || n > 1024 {
			return fmt.Errorf("%w: --clients %d: must be 1 to 1024", errUsage, n)
		}
	}
	for _, n := range f.keys {
		if n < 1 {
			return bad("keys", n)
		}
	}
	for _, h := range f.holds {
		if h < 0 {
			return fmt.Errorf("%w: --hold %v is negative", errUsage, h)
		}
	}
	switch {
	case f.reps < 1 || f.reps > 1000:
		return fmt.Errorf("%w: --reps %d: must be 1 to 1000", errUsage, f.reps)
	case f.duration <= 0:
		return bad("duration", f.duration)
	case f.warmup < 0:
		return fmt.Errorf("%w: --warmup %v is negative", errUsage, f.warmup)
	case f.lease <= 0:
		return bad("lease", f.lease)
	case f.rate < 0:
		return bad("rate", f.rate)
	case !(f.slow >= 0 && f.slow <= 10):
		return fmt.Errorf("%w: --slow %v: want a share such as 0.2", errUsage, f.slow)
	case !(f.threshold > 0 && f.threshold < 10):
		return fmt.Errorf("%w: --threshold %v: want a share such as 0.1", errUsage, f.threshold)
	}
	return nil
}

// gates reads --max and --min.
func gates(most, least []string) (all []results.Gate, err error) {
	for _, list := range []struct {
		flag  string
		texts []string
		least bool
	}{{"max", most, false}, {"min", least, true}} {
		for _, text := range list.texts {
			g, err := results.ParseBound(text, list.least)
			if err != nil {
				return nil, fmt.Errorf("%w: --%s %s: %w", errUsage, list.flag, text, err)
			}
			all = append(all, g)
		}
	}
	return all, nil
}

func (a *app) bench(ctx context.Context, f benchFlags, flags *pflag.FlagSet) error {
	c, err := f.config(ctx, flags)
	if err != nil {
		return err
	}
	limits, err := gates(f.max, f.min)
	if err != nil {
		return err
	}
	base, err := storedBench(f.baseline)
	if err != nil {
		return err
	}
	if !flags.Changed("seed") {
		if c.Seed, err = drawSeed(a.random); err != nil {
			return err
		}
	}
	if c.Provider, err = a.realServers(ctx, f.server); err != nil {
		return err
	}
	c.Environment = results.CaptureEnvironment(ctx, thisMachine())
	c.Random, c.Now, c.Rerun, c.Runner = a.random, a.now, rerun(flags, "bench", c.Provider, c.Seed), a.runner
	c.Progress = a.benchProgress()
	a.say("%s", benchPlan(c))
	ctx, interrupts := a.listen(ctx)
	c.Stop = interrupts.stop
	options := bench.CompareOptions{Threshold: f.threshold, AllowEnvironments: f.allowEnvDiff}
	if base != nil {
		c.Enough = settled(*base, options)
	}
	out, err := bench.Run(ctx, c)
	a.line.clear()
	if err != nil {
		return errors.Join(err, interrupts.end())
	}
	out.Gates = bench.CheckGates(out, limits)
	against(&out, base, f.baseline, options)
	return errors.Join(a.endBench(out, f.out, f.store, f.details), a.benchError(out), interrupts.end())
}

// settled returns what reports whether a comparison with the base is settled. What noise could hide is not, and a slowdown is one only when more repetitions
// show it too.
func settled(base results.Bench, o bench.CompareOptions) func(results.Bench) bool {
	looks := 0
	return func(b results.Bench) bool {
		looks++
		c := bench.CompareBenches(base, b, o)
		return !c.Noisy() && (c.Verdict != results.CompareSlower || looks > 1)
	}
}

// against compares a bench with a stored one, if there is one.
func against(b *results.Bench, base *results.Bench, path string, o bench.CompareOptions) {
	if base == nil {
		return
	}
	c := bench.CompareBenches(*base, *b, o)
	c.Base, c.New = path, "this bench"
	b.Baseline = &c
}

// benchError returns the error for a bench's verdict and gates.
func (a *app) benchError(b results.Bench) error {
	err := errors.Join(gateError(b.Gates))
	if b.Verdict != checker.Pass {
		err = errors.Join(err, verdictError(b.Verdict))
	}
	if b.Baseline != nil {
		err = errors.Join(err, compareError(*b.Baseline))
	}
	return err
}

// gateError returns the error for the results of gates.
func gateError(all []results.GateResult) error {
	switch results.GatesVerdict(all) {
	case "fail":
		return errGate
	case "inconclusive":
		return errInconclusive
	}
	return nil
}

// endBench saves a bench and its reports in a directory of its own, and shows it.
func (a *app) endBench(b results.Bench, base, store string, details bool) error {
	id, err := results.NewID(a.random)
	if err != nil {
		return err
	}
	dir, err := results.CreateOf(base, "bench", a.now(), id)
	if err != nil {
		return err
	}
	err = errors.Join(results.StoreBench(filepath.Join(dir, results.BenchFile), b), saveViewsOf(dir, map[string]func(io.Writer) error{
		results.SummaryFile: func(w io.Writer) error { return report.BenchSummary(w, b) },
		results.JUnitFile:   func(w io.Writer) error { return report.BenchJUnit(w, b) },
		results.ReportFile:  func(w io.Writer) error { return page.Bench(w, b) },
	}))
	if store != "" {
		err = errors.Join(err, results.StoreBench(store, b))
	}
	return errors.Join(err, a.showBench(b, dir, details),
		a.tellGitHub(func(w io.Writer) error { return report.BenchSummary(w, b) }),
		a.annotate(func(w io.Writer) error { return report.BenchAnnotations(w, b) }))
}

func (a *app) showBench(b results.Bench, dir string, details bool) error {
	if a.json() {
		return a.writeJSON(b)
	}
	return report.Bench(a.out, b, dir, details, a.style())
}

// realServers finds a provider of real servers.
func (a *app) realServers(ctx context.Context, word string) (servers.Provider, error) {
	if word == "sim" || word == "miniredis" {
		return nil, fmt.Errorf("%w: --server %s: a bench measures real time on a real Redis", errUsage, word)
	}
	p, why, err := a.provider(ctx, word, a.providers())
	if err != nil {
		return nil, err
	}
	if p.Name() == "sim" {
		return nil, fmt.Errorf("bench needs a real Redis: %w: %s", servers.ErrMissing, why)
	}
	a.announce(p, why)
	return p, nil
}

func storedBench(path string) (*results.Bench, error) {
	if path == "" {
		return nil, nil
	}
	b, err := results.LoadBench(path)
	if err != nil {
		return nil, asInput(err)
	}
	return &b, nil
}

// benchPlan prints, before anything runs, what will run and how long it takes.
func benchPlan(c bench.Config) string {
	n := len(c.Locks)
	locks := fmt.Sprintf("%d locks", n)
	if n == 1 {
		locks = "1 lock"
	}
	if c.Reference == "" {
		locks += " and the bare loop"
	}
	return fmt.Sprintf("plan: %s, %d repetitions of %v: about %v, seed %d", locks, c.Repetitions, (c.Duration / time.Duration(c.Repetitions)).Round(time.Millisecond),
		c.Estimate().Round(time.Second), c.Seed)
}

// benchProgress shows the turn under way on a terminal, and elsewhere one line for each repetition.
func (a *app) benchProgress() func(bench.Progress) {
	said := 0
	return func(p bench.Progress) {
		text := fmt.Sprintf("%d/%d  repetition %d  %s × %s  %s, about %s left  %s", p.Turn, p.Turns, p.Repetition, p.Lock, p.Setting,
			p.Elapsed.Round(time.Second), p.Left.Round(time.Second), p.Last)
		if p.Unsafe > 0 {
			text += fmt.Sprintf("  %d unsafe", p.Unsafe)
		}
		a.line.show(text)
		if !a.line.live && p.Repetition > said {
			said = p.Repetition
			a.say("repetition %d: %s, about %s left", p.Repetition, p.Elapsed.Round(time.Second), p.Left.Round(time.Second))
		}
	}
}
