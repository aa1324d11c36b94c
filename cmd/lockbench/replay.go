package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
	"github.com/lockbench/lockbench/verdicts"
)

type replayFlags struct {
	server, out string
	trace       bool
	exec        execFlags
	again       string // the command that does it again
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay TAPE|RUN",
		Short: "Run a tape or a stored run again",
		Long: "replay runs a tape of 'lockbench explore' again in the simulator, event for event, and reports whether the violation was reproduced.\n" +
			"When the trace differs from the tape's, the lock or lockbench has changed since: a note says so, and the new trace is judged.\n\n" +
			"With another --server it runs the tape's program there. A proxy delays every request and every reply until its turn\n" +
			"on the tape, and injects the tape's faults between the same messages; waits take real time. A run that\n" +
			"diverges from the tape says where; it is repeated up to three times, until the tape's property breaks there, too.\n\n" +
			"A run directory is run again from its scenario and its seed, on the kind of server that it ran on.",
		Example: "  lockbench replay results/runs/latest\n  lockbench replay results/runs/latest/violations/001.tape\n" +
			"  lockbench replay results/runs/latest/violations/001.tape --server process",
		Args: takes("needs TAPE|RUN", 1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			f.again = results.CommandLine(append([]string{"lockbench", "replay", lasting(args[0])}, givenFlags(c.Flags())...))
			return a.replay(c.Context(), args[0], f)
		},
	}
	s := c.Flags()
	a.serverFlag(c, &f.server, "", " (default: sim for a tape, the run's own for a run)")
	s.BoolVar(&f.trace, "trace", false, "show every event of a tape that is replayed in the simulator")
	s.StringVar(&f.out, "out", results.DefaultBase, "where run directories are made")
	f.exec.register(s)
	return c
}

// lasting returns what a path leads to now: results/runs/latest is another run tomorrow.
func lasting(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// replay replays a tape, or runs the scenario of a run directory again. The directory of a search has
// a tape and no scenario.
func (a *app) replay(ctx context.Context, path string, f replayFlags) error {
	if info, err := os.Stat(path); err != nil {
		return asInput(err)
	} else if !info.IsDir() {
		return a.replayTape(ctx, path, f)
	}
	d, err := results.Open(path)
	if err != nil {
		return asInput(err)
	}
	if !exists(d.File(results.ScenarioFile)) {
		return a.replayTape(ctx, d.File(results.TapePath), f)
	}
	run, err := d.LoadRun()
	if err != nil {
		return asInput(err)
	}
	e := harness.Experiment{Seed: run.Seed}
	if e.Variant, err = storedLock(ctx, run.Lock, &f.exec); err != nil {
		return err
	}
	if e.Scenario, err = scenarios.Load(d.File(results.ScenarioFile)); err != nil {
		return asInput(err)
	}
	if run.Server == results.Guest && f.server == "" {
		return fmt.Errorf("%w: the run was on a Redis given by URL; give it again with --server", errUsage)
	}
	f.server = cmp.Or(f.server, run.Server)
	out, err := a.onServers(ctx, e, f)
	if out == nil || out.Result.Schema == "" {
		return err
	}
	return errors.Join(err, a.show(runRecord(out.Dir, out.Run, &out.Result)), runError(out))
}

// storedLock returns the lock of a stored run. A command must be given again: none is read from a
// file and started.
func storedLock(ctx context.Context, name string, f *execFlags) (impls.Variant, error) {
	v, err := f.lock(ctx, name)
	if err != nil && !f.given() {
		err = fmt.Errorf("%w; one that was a command is given again by --exec", err)
	}
	return v, err
}

// onServers makes one run of a variant, a scenario and a seed on the servers of --server.
func (a *app) onServers(ctx context.Context, of harness.Experiment, f replayFlags) (out *harness.Outcome, err error) {
	p, why, err := a.provider(ctx, f.server, false)
	if err != nil {
		return nil, err
	}
	e := a.experiment(p, why, f.out)
	e.Variant, e.Scenario, e.Schedule, e.Seed, e.Subject, e.Rerun = of.Variant, of.Scenario, of.Schedule, of.Seed, f.exec.fleet, f.again
	ctx, stop := a.listen(ctx)
	e.Stop, e.Progress = stop.Done(), func(p harness.Progress) { a.line.show(runProgress(e, p)) }
	out, err = a.kept(ctx, e)
	a.line.clear()
	return out, errors.Join(err, a.ended())
}

func (a *app) replayTape(ctx context.Context, path string, f replayFlags) error {
	t, err := readTape(path)
	if err != nil {
		return asInput(err)
	}
	live := len(t.Schedule) > 0
	switch {
	case live && !f.exec.given():
		return fmt.Errorf("%w: %s is of a command: give it again by --exec", errUsage, path)
	case !live && f.exec.given():
		return fmt.Errorf("%w: %s is of the simulator, of which no process knows the order: leave --exec out", errUsage, path)
	}
	v, err := storedLock(ctx, t.Program.Lock, &f.exec)
	if err != nil {
		return err
	}
	if t.Hash == "" {
		return fmt.Errorf("%w: %s: along this tape the lock takes its process down; 'lockbench explore' shows it in a process of its own", errUsage, path)
	}
	r := results.Replay{Schema: "lockbench/replay/v1", Tape: path, Lock: t.Program.Lock, Property: t.Property, Cause: t.Cause, Server: cmp.Or(f.server, results.Simulator)}
	if live || r.Server != results.Simulator {
		f.server = cmp.Or(f.server, "auto")
		err = a.onReal(ctx, t, v, f, &r)
	} else if _, _, err = a.provider(ctx, r.Server, false); err == nil { // an error is of a flag that is for other servers
		err = a.inSim(ctx, t, f, &r)
	}
	if r.Verdict == "" {
		return err
	}
	return errors.Join(err, show(a, r, report.Replayed), verdictError(r.Verdict))
}

func readTape(path string) (sim.Tape, error) {
	file, err := foreign.Open(path)
	if err != nil {
		return sim.Tape{}, err
	}
	t, err := sim.ReadTape(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, errors.Join(err, file.Close())
}

// inSim replays a tape event for event. It also judges a trace that differs from the tape's.
func (a *app) inSim(ctx context.Context, t sim.Tape, f replayFlags, r *results.Replay) error {
	s := sim.New(catalogue.Known{})
	defer s.Close() // never fails
	out, err := s.Replay(t)
	if err != nil && !errors.Is(err, sim.ErrDiverged) {
		return asInput(fmt.Errorf("%s: %w", r.Tape, err))
	}
	if r.Identical = err == nil; !r.Identical {
		r.Notes = append(r.Notes, err.Error(), "the lock, its workload or lockbench is not what it was when the tape was made, or the lock is not deterministic")
	}
	if f.trace {
		r.Trace = out.Trace
	}
	broken, story, err := search.Breaks(ctx, s, t)
	if r.Story = story; err == nil && !broken {
		var other verdicts.Break
		other, r.Story, err = search.BreaksElse(ctx, s, t)
		r.Instead = other.String()
	}
	switch {
	case err != nil:
		return asInput(err)
	case broken, r.Instead != "":
		r.Verdict = checker.Fail
	case r.Identical:
		r.Verdict = checker.Pass
	default:
		r.Verdict = checker.Inconclusive
	}
	return nil
}

// tries is how often a tape is tried on real servers.
const tries = 3

// onReal runs the tape's program on real servers in the order of the tape's messages and faults,
// until the tape's property breaks.
func (a *app) onReal(ctx context.Context, t sim.Tape, v impls.Variant, f replayFlags, r *results.Replay) (err error) {
	schedule := t.Schedule
	if len(schedule) == 0 {
		s := sim.New(catalogue.Known{})
		out, err := s.Replay(t)
		s.Close() // never fails
		if err != nil {
			return fmt.Errorf("%w: %w", errInconclusive, err)
		}
		schedule = out.Schedule.Playable()
	}
	scenario := harness.OfTape(t)
	if err := scenario.Validate(); err != nil { // like a scenario file
		return asInput(fmt.Errorf("tape: %w", err))
	}
	e := harness.Experiment{Variant: v, Schedule: schedule, Seed: t.Program.Seed, Scenario: scenario.Resolve(t.Program.Seed, impls.Topology(t.Program.Topology))}
	r.Placed = faults.Placements(e.Scenario.Faults, e.Schedule)
	for try := 0; try < tries && err == nil; try++ {
		var out *harness.Outcome
		if out, err = a.onServers(ctx, e, f); out == nil || out.Verdict == nil {
			return err
		}
		r.Runs = append(r.Runs, filepath.Clean(out.Dir))
		r.Server, r.Order = out.Run.Server, out.Order
		all := out.Verdict.Violations
		var seen []string // the story of a violation of the tape's property
		if i := slices.IndexFunc(all, func(x checker.Violation) bool { return x.Property == t.Property }); i >= 0 {
			seen = all[i].Story
		} else {
			var unshown error
			seen, unshown = search.Unshown(t, v, out.Record, out.Windows)
			err = errors.Join(err, unshown)
		}
		if seen != nil {
			r.Verdict, r.Instead, r.Story = checker.Fail, "", seen
			return err
		}
		if r.Verdict != checker.Fail {
			r.Verdict = out.Verdict.Verdict
			r.Instead, r.Story = insteadOf(t, all)
		}
	}
	return err
}

// insteadOf returns what a run broke that did not break the tape's property, and its story: what
// has the tape's cause, if anything has, since one defect breaks now this property, now that.
func insteadOf(t sim.Tape, all []checker.Violation) (string, []string) {
	if len(all) == 0 {
		return "", nil
	}
	i := max(0, slices.IndexFunc(all, func(x checker.Violation) bool { return x.Cause == t.Cause }))
	return verdicts.Break{Property: all[i].Property, Cause: all[i].Cause}.String(), all[i].Story
}
