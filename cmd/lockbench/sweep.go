package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
)

const sweepHelp = "run at several sizes of a fault: NAME=FROM..TO[/POINTS], such as pause/lease=0.2..3.0, failover-lag=10ms..1s, clock-jump=100ms..2s"

// sweep runs the scenario at each size and shows how often the lock broke.
func (a *app) sweep(ctx context.Context, f runFlags, flags *pflag.FlagSet) error {
	sweep, err := scenarios.ParseSweep(f.sweep)
	if err != nil {
		return asInput(err)
	}
	e, err := a.experiment(ctx, &f, flags)
	if err != nil {
		return err
	}
	plan, err := loadEach(sweep.Points, func(size faults.Span) (scenarios.Scenario, error) { return e.Scenario.At(sweep, size) })
	if err != nil {
		return err
	}
	ctx, interrupts := a.listen(ctx)
	e.Stop = interrupts.stop.Done()
	out := results.Sweep{Schema: results.SweepSchema, Lock: e.Variant.Name, Scenario: e.Scenario.Name, Server: e.Provider.Name(), Seed: f.seed,
		Parameter: sweep.Parameter, Asked: len(sweep.Points), Points: []results.SweepPoint{}, Rerun: rerun(flags, "run", e.Provider, f.seed)}
	for i, size := range sweep.Points {
		if interrupts.stop.Err() != nil {
			break
		}
		e.Scenario = plan[i]
		e.Progress = func(p harness.Progress) {
			a.line.show(facts(fmt.Sprintf("%s %s, %d of %d", sweep.Parameter, size, i+1, len(plan)), runProgress(e, p)))
		}
		p, pointErr := a.sweepPoint(ctx, interrupts, e, f, size)
		err = errors.Join(err, pointErr)
		if p.Runs > 0 {
			out.Points = append(out.Points, p)
		}
		if pointErr != nil {
			break
		}
	}
	a.line.clear()
	out.Judge()
	return errors.Join(err, show(a, out, report.Sweep), sweepError(out), interrupts.end())
}

// sweepError returns the error for a sweep's verdict. A sweep that is inconclusive only because it
// was interrupted ends as interrupted.
func sweepError(x results.Sweep) error {
	if x.Verdict == checker.Inconclusive && slices.ContainsFunc(x.Points, func(p results.SweepPoint) bool { return p.Verdict == checker.Pass }) {
		return nil
	}
	return verdictError(x.Verdict)
}

// sweepPoint makes the runs of one size. Runs before a failed one count.
func (a *app) sweepPoint(ctx context.Context, i *interruption, e harness.Experiment, f runFlags, size faults.Span) (results.SweepPoint, error) {
	var sum *checker.Verdict
	var dirs []string
	var failovers *results.Failovers
	runs, violated := 0, 0
	plan := e.Scenario
	e.Rerun = results.CommandLine(a.argv)
	var err error
	for rep := range f.reps {
		if rep > 0 && i.stop.Err() != nil {
			break
		}
		e.Seed = f.seed + uint64(rep)
		e.Scenario = plan.Resolve(e.Seed, e.Variant.Topology)
		var out *harness.Outcome
		if out, err = a.kept(ctx, e); err != nil {
			break
		}
		runs++
		if out.Verdict.Verdict == checker.Fail {
			violated++
		}
		failovers = results.SumFailovers(failovers, out.Result.Failovers)
		if out.Dir != "" {
			dirs = append(dirs, out.Dir)
		}
		if sum == nil {
			sum = out.Verdict
			continue
		}
		sum = checker.Sum(sum, out.Verdict)
	}
	if sum == nil {
		return results.SweepPoint{}, err
	}
	sum.Estimate()
	p := results.NewSweepPoint(size.String(), int64(size.Of(e.Scenario.Lease.Of(0))), sum)
	p.Failovers = failovers
	p.Runs, p.Violated, p.Dirs, p.Notes = runs, violated, dirs, slices.Compact(p.Notes)
	return p, err
}
