package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

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

func (f *benchFlags) register(a *app, c *cobra.Command) {
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
	if err := f.withScenario(&c, flags); err != nil {
		return c, err
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

// withScenario takes the faults, the topology and, unless flags set them, the times from the
// scenario.
func (f *benchFlags) withScenario(c *bench.Config, flags *pflag.FlagSet) error {
	if f.scenario == "" {
		return nil
	}
	s, err := scenarios.Load(f.scenario)
	if err != nil {
		return asInput(err)
	}
	c.Scenario, c.Faults, c.Topology = s.Name, s.Faults, s.Topology
	if !flags.Changed("lease") { // the length of its faults is in leases
		c.Lease = s.Lease.Fixed
	}
	if !flags.Changed("warmup") { // the first faults would be over by then
		c.WarmUp = 0
	}
	return nil
}

// check rejects flags that don't go together, and numbers out of range.
func (f benchFlags) check(flags *pflag.FlagSet) error {
	if len(f.locks) == 0 && !f.exec.given() {
		return fmt.Errorf("%w: --locks is missing; 'lockbench list locks' shows them", errUsage)
	}
	if err := f.exec.check(flags, ""); err != nil {
		return err
	}
	for _, n := range f.Clients {
		if n < 1 || n > 1024 {
			return fmt.Errorf("%w: --clients %d: must be 1 to 1024", errUsage, n)
		}
	}
	for _, n := range f.Keys {
		if n < 1 || n > scenarios.MaxKeys {
			return fmt.Errorf("%w: --keys %d: must be 1 to %d", errUsage, n, scenarios.MaxKeys)
		}
	}
	for _, h := range f.Holds {
		if h < 0 {
			return fmt.Errorf("%w: --hold %v: must not be negative", errUsage, h)
		}
	}
	switch {
	case f.Repetitions < 1 || f.Repetitions > 1000:
		return fmt.Errorf("%w: --reps %d: must be 1 to 1000", errUsage, f.Repetitions)
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
