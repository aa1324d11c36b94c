package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
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
	f.register(a, c)
	f.exec.register(c.Flags())
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
	ctx, interrupts := a.listen(ctx)
	c.Stop = interrupts.stop.Done()
	if base != nil {
		c.Enough = func(b results.Bench) bool { return settled(*base, b, f) }
	}
	out, err := bench.Run(ctx, c)
	a.line.clear()
	if err != nil {
		return errors.Join(err, a.dropEmpty(f.out, dir), interrupts.end())
	}
	out.Gates = out.CheckGates(limits)
	against(&out, base, f.baseline, f.options)
	out.Judge()
	return errors.Join(a.endBench(out, dir, f.store), benchError(out), lacking(lacks), interrupts.end())
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

// settled reports whether a comparison with the base is settled: noise hides nothing, and a
// slowdown was shown by more repetitions than planned.
func settled(base, b results.Bench, f benchFlags) bool {
	c := bench.CompareBenches(base, b, f.options)
	return !c.Noisy() && (c.Verdict != results.CompareSlower || b.Plan.Repetitions > f.Repetitions)
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

// endBench saves a bench and its reports in its directory, and shows it.
func (a *app) endBench(b results.Bench, dir, store string) error {
	var err error
	if b.Suite, err = keptEndings(b.Plan.Locks); err != nil {
		return err
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

// keptEndings is what the suite that is kept with this version found of some locks, by scenario.
func keptEndings(locks []string) (map[string]map[string]results.Ending, error) {
	suite, err := results.KeptSuite()
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]results.Ending{}
	for _, c := range suite.Cells {
		v, ok := catalogue.Find(c.Lock)
		if !ok || !slices.Contains(locks, c.Lock) {
			continue
		}
		if c.Fences = v.Traits.Fenced; out[c.Lock] == nil {
			out[c.Lock] = map[string]results.Ending{}
		}
		out[c.Lock][c.Scenario] = c.Ending()
	}
	return out, nil
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
