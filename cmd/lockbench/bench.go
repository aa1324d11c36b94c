package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

func newBench(a *app) *cobra.Command {
	f := benchFlags{pace: newChoice(workloads.Constant, workloads.Paces()...)}
	c := &cobra.Command{
		Use:   "bench {--locks NAME,NAME… | --exec COMMAND} [flags]",
		Short: "Measure what locks cost, side by side",
		Long: "bench measures locks side by side: on the same servers, over the same kind of\n" +
			"connections, in repetitions that take turns. A bare loop of the commands of a\n" +
			"simple lock is the reference. bench prints first how long it will take. It also\n" +
			"checks every repetition, and prints the verdict beside the figures.\n\n" +
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
	s := c.Flags()
	s.StringSliceVar(&f.locks, "locks", nil, "the locks to measure; 'lockbench list locks' shows them")
	s.IntSliceVar(&f.Clients, "clients", []int{1, 8}, "how many clients, one setting for each")
	s.IntSliceVar(&f.Keys, "keys", []int{1}, "of how many keys each hold draws one")
	s.DurationSliceVar(&f.Holds, "hold", []time.Duration{0}, "how long each hold lasts")
	s.Float64Var(&f.rate, "rate", 0, "holds per second of all clients, begun by plan; 0: each when the last one ended")
	s.Var(&f.pace, "pace", "how --rate and --rates space holds: equal gaps, random gaps (as of independent users), or a rate that rises to it")
	s.StringVar(&f.rates, "rates", "", "several rates: 100,200,400, or A..B for six between them")
	s.StringVar(&f.findRate, "find-rate", "", "look for the highest rate that keeps a limit, such as 'p99<20ms'; with --rates A..B, between those")
	s.DurationVar(&f.Duration, "duration", 10*time.Second, "measured time of each lock in each setting, its repetitions together")
	s.DurationVar(&f.WarmUp, "warmup", time.Second, "unmeasured time before that, likewise")
	s.IntVar(&f.Repetitions, "reps", 10, "repetitions; intervals need 6")
	s.DurationVar(&f.Lease, "lease", 30*time.Second, "the locks' lease")
	s.DurationVar(&f.Poll, "poll", impls.DefaultPoll, "time between tries of locks that poll")
	a.serverFlag(c, &f.server, "auto", "")
	s.StringVar(&f.Reference, "reference", "", "the lock that others are compared with (default: the bare command loop)")
	s.StringVar(&f.scenario, "scenario", "", "a scenario whose faults happen in every repetition, with its lease and without warm-up unless these are given")
	s.BoolVar(&f.Crash, "crash", false, "also crash a holder, and measure how soon its lock is granted again")
	s.BoolVar(&f.Greedy, "greedy", false, "a client that released may acquire again at once")
	s.StringArrayVar(&f.max, "max", nil, "METRIC=LIMIT: exit 2 when a lock's figure is above it")
	s.StringArrayVar(&f.min, "min", nil, "METRIC=LIMIT: exit 2 when a lock's figure is below it")
	s.StringVar(&f.baseline, "baseline", "", "a stored bench to compare with: exit 2 when a lock became slower; where noise hides that, up to three times the repetitions are taken")
	s.StringVar(&f.store, "store", "", "a file to write the bench to, for a later --baseline")
	s.Float64Var(&f.options.Threshold, "threshold", bench.DefaultThreshold, "least relative change that counts as slower")
	s.BoolVar(&f.options.AllowEnvironments, "allow-env-diff", false, "compare with a baseline of another machine")
	s.Uint64Var(&f.Seed, "seed", 0, "random seed (default: random, printed)")
	s.Var(&f.shard, "shard", "measure only this share of the settings, such as 1/3; 'lockbench merge' joins the shards")
	s.StringVar(&f.out, "out", results.DefaultBase, "where the bench's directory is made")
	c.MarkFlagsMutuallyExclusive("rate", "rates")
	c.MarkFlagsMutuallyExclusive("rate", "find-rate")
	f.exec.register(s)
	return c
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
	base, err := stored(f.baseline, results.LoadBench)
	if err != nil {
		return err
	}
	if err := a.drawSeed(flags, &c.Seed); err != nil {
		return err
	}
	if f.server == "sim" {
		return fmt.Errorf("%w: --server %s: a bench measures real time on a real Redis", errUsage, f.server)
	}
	if c.Provider, _, err = a.provider(ctx, f.server, true); err != nil && f.server == "auto" {
		return fmt.Errorf("bench needs a real Redis: %w", err)
	} else if err != nil {
		return err
	}
	c.Environment = results.CaptureEnvironment(ctx, thisMachine())
	c.Random, c.Now, c.Rerun, c.Runner = a.random, a.now, rerun(flags, "bench", c.Provider, c.Seed), a.runner
	c.Progress = a.benchProgress()
	lacks := map[string]error{}
	c.Failed = func(lock string, err error) {
		if exitCode(err) == exitEnvironment {
			lacks[lock] = err
		}
	}
	dir, err := a.createFor(f.store, f.out, "bench")
	if err != nil {
		return err
	}
	a.say("%s", benchPlan(c))
	ctx, stop := a.listen(ctx)
	c.Stop = stop.Done()
	if base != nil { // noise hides nothing, and a slowdown was shown by more repetitions than planned
		c.Enough = func(b results.Bench) bool {
			now := bench.CompareBenches(*base, b, f.options)
			return !now.Noisy() && (now.Verdict != results.CompareSlower || b.Plan.Repetitions > f.Repetitions)
		}
	}
	out, err := bench.Run(ctx, c)
	a.line.clear()
	if err != nil {
		return errors.Join(err, a.dropEmpty(f.out, dir), a.ended())
	}
	out.Gates = out.CheckGates(limits)
	against(&out, base, f.baseline, f.options)
	out.Judge()
	return errors.Join(a.endBench(out, dir, f.store), benchError(out), lacking(lacks), a.ended())
}

// benchPlan says, before anything runs, what will run and how long it takes.
func benchPlan(c bench.Config) string {
	locks := report.Plural(len(c.Locks), "lock")
	if c.Reference == "" {
		locks += " and the bare loop"
	}
	return fmt.Sprintf("plan: %s, %s of %v: about %v, seed %d", locks, report.Plural(c.Repetitions, "repetition"), (c.Duration / time.Duration(c.Repetitions)).Round(time.Millisecond),
		c.Estimate().Round(time.Second), c.Seed)
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

func benchError(b results.Bench) error {
	odd := slices.ContainsFunc(b.Cells, func(c results.BenchCell) bool { return c.Verdict == checker.Inconclusive })
	known := results.GatesVerdict(b.Gates) == checker.Pass && (b.Baseline == nil || b.Baseline.Verdict == results.ComparePass)
	return endError(b.Verdict, !b.Broken(), b.Interrupted && !odd && known)
}

// endBench saves a bench and its reports in its directory, and shows it, with what the suite that is
// kept with this version found of its locks.
func (a *app) endBench(b results.Bench, dir, store string) error {
	suite, err := results.KeptSuite()
	if err != nil {
		return err
	}
	b.Suite = map[string]map[string]results.Ending{}
	for _, c := range suite.Cells {
		v, ok := catalogue.Find(c.Lock)
		if !ok || !slices.Contains(b.Plan.Locks, c.Lock) {
			continue
		}
		if c.Fences = v.Traits.Fenced; b.Suite[c.Lock] == nil {
			b.Suite[c.Lock] = map[string]results.Ending{}
		}
		b.Suite[c.Lock][c.Scenario] = c.Ending()
	}
	r := benchRecord(b, dir)
	err = errors.Join(results.StoreBench(filepath.Join(dir, results.BenchFile), b), r.save())
	switch {
	case store != "" && b.Interrupted:
		a.say("--store %s: not written, because the bench was interrupted", store)
	case store != "":
		err = errors.Join(err, results.StoreBench(store, b))
	}
	return errors.Join(err, a.show(r), a.summarize(r.forms["md"]))
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

// benchFlags are the flags of bench, as they were given; some are fields of the plan itself.
type benchFlags struct {
	bench.Config
	options              bench.CompareOptions
	locks                []string
	rate                 float64
	pace                 choice
	rates, findRate      string
	server, scenario     string
	max, min             []string
	baseline, store, out string
	shard                shardFlag
	exec                 execFlags
}

// parseRates reads "100,200" or "100..5000", which stands for six.
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
	const rateSteps = 6
	return bench.Steps(out[0], out[1], rateSteps), nil
}

// config turns flags into a plan. It starts nothing but the command of --exec, once.
func (f *benchFlags) config(ctx context.Context, flags *pflag.FlagSet) (c bench.Config, err error) {
	if err := f.check(flags); err != nil {
		return c, err
	}
	c = f.Config
	c.Shard = f.shard.given
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
			return c, fmt.Errorf("%w: --find-rate %s: %w", errUsage, f.findRate, err)
		}
		c.Find = &g
		if _, _, err := c.SearchRange(); err != nil {
			return c, fmt.Errorf("%w: --find-rate: %w", errUsage, err)
		}
	}
	if len(c.Rates) > 0 || c.Find != nil { // a closed loop has no pace
		c.Pace = workloads.Pace(f.pace.value)
	} else if flags.Changed("pace") {
		return c, fmt.Errorf("%w: --pace is of --rate, --rates or --find-rate, and none is given", errUsage)
	}
	if f.scenario != "" { // the faults and the topology, and the times unless flags set them
		s, err := scenarios.Load(f.scenario)
		if err != nil {
			return c, asInput(err)
		}
		c.Scenario, c.Faults, c.Topology = s.Name, s.Faults, s.Topology
		if !flags.Changed("lease") { // the length of its faults is in leases
			c.Lease = s.Lease.Fixed
		}
		if !flags.Changed("warmup") { // the first faults would be over by then
			c.WarmUp = 0
		}
	}
	if c.Locks, err = f.variants(ctx); err != nil {
		return c, err
	}
	c.Subject = f.exec.fleet
	if c.Reference != "" && !slices.ContainsFunc(c.Locks, named(c.Reference)) {
		return c, fmt.Errorf("%w: --reference %s is not among the locks that are measured", errUsage, c.Reference)
	}
	return c, nil
}

func named(name string) func(impls.Variant) bool {
	return func(v impls.Variant) bool { return v.Name == name }
}

// variants returns the locks of --locks, and that of --exec.
func (f *benchFlags) variants(ctx context.Context) (all []impls.Variant, err error) {
	for _, name := range f.locks {
		v, err := variant(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, named(v.Name)) {
			return nil, fmt.Errorf("%w: --locks names %s twice", errUsage, v.Name)
		}
		all = append(all, v)
	}
	if !f.exec.given() {
		return all, nil
	}
	v, err := f.exec.probe(ctx)
	if err == nil && slices.ContainsFunc(all, named(v.Name)) {
		err = fmt.Errorf("%w: --exec calls itself %s, as a lock of --locks does", errUsage, v.Name)
	}
	return append(all, v), err
}

// check rejects flags that don't go together, and numbers out of range.
func (f benchFlags) check(flags *pflag.FlagSet) error {
	if len(f.locks) == 0 && !f.exec.given() {
		return fmt.Errorf("%w: --locks is missing; 'lockbench list locks' shows them", errUsage)
	}
	if err := f.exec.check(flags, ""); err != nil {
		return err
	}
	if err := cmp.Or(inRange(flags, "clients", 1, 1024, f.Clients...), inRange(flags, "keys", 1, scenarios.MaxKeys, f.Keys...)); err != nil {
		return err
	}
	for _, h := range f.Holds {
		if h < 0 {
			return fmt.Errorf("%w: --hold %v: must not be negative", errUsage, h)
		}
	}
	if err := inRange(flags, "reps", 1, 1000, f.Repetitions); err != nil {
		return err
	}
	switch {
	case f.Duration <= 0 || f.Duration > faults.MaxFixed:
		return fmt.Errorf("%w: --duration %v: must be more than 0 and at most %v", errUsage, f.Duration, faults.MaxFixed)
	case f.WarmUp < 0:
		return fmt.Errorf("%w: --warmup %v: must not be negative", errUsage, f.WarmUp)
	case f.Lease < scenarios.MinLease || f.Lease > faults.MaxFixed:
		return fmt.Errorf("%w: --lease %v: must be %v to %v", errUsage, f.Lease, scenarios.MinLease, faults.MaxFixed)
	case !(f.rate >= 0 && f.rate <= 1e9):
		return fmt.Errorf("%w: --rate %v: must be 0 to 1e9", errUsage, f.rate)
	}
	return checkThreshold(f.options)
}

func checkThreshold(o bench.CompareOptions) error {
	if !(o.Threshold > 0 && o.Threshold < 10) {
		return fmt.Errorf("%w: --threshold %v: want a share such as 0.1", errUsage, o.Threshold)
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

// metricsHelp lists the metrics that gates take, with their units, and each distribution once.
func metricsHelp() string {
	var b strings.Builder
	b.WriteString("A limit is METRIC=LIMIT with --max and --min, and METRIC<=LIMIT or METRIC>=LIMIT in a\n" +
		"scenario's slo and with --find-rate. Times have a unit (20ms), shares may be in\npercent (1%).\n\n")
	var rows [][]string
	last := ""
	for _, m := range results.Metrics() {
		name, about := m.Name, m.About
		if family, _, ok := strings.Cut(m.Name, ".p"); ok && strings.Contains(about, ", p") {
			if family == last {
				continue
			}
			last, name, about = family, family+".pNN", about[:strings.LastIndex(about, ", p")]
		}
		rows = append(rows, []string{"  " + name, string(m.Unit), about})
	}
	_ = aligned(&b, rows) // into memory
	fmt.Fprintf(&b, "\npNN is one of %s; p99 alone is acquire.p99.", strings.Join(results.Quantiles(), ", "))
	return b.String()
}
