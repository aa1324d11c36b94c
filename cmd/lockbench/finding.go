package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
)

// aboutSearch is what the page of a finding says of its scenario.
const aboutSearch = "A search chose the schedule: which message comes next, when time passes, and which faults strike. It was shrunk to the least that still breaks."

// found is the record of a finding's schedule, judged as a run is.
type found struct {
	sim.Outcome
	verdict *checker.Verdict
}

// judgeFinding judges the schedule of a tape; nil if its operations do not show the tape's
// violation, such as a client that never ends.
func judgeFinding(ctx context.Context, t sim.Tape, out sim.Outcome) (*found, error) {
	v, _, err := judge.Check(ctx, judge.Record{Recorded: out.Recorded, Windows: out.Windows, Store: out.Store, Effects: out.Effects}, checker.Options{Seed: t.Program.Seed})
	if err != nil {
		return nil, err
	}
	sought := func(x checker.Violation) bool { return x.Property == t.Property && x.Cause == t.Cause }
	if !slices.ContainsFunc(v.Violations, sought) {
		return nil, nil
	}
	slices.SortStableFunc(v.Violations, func(a, b checker.Violation) int { // file 001 tells of the finding
		switch {
		case sought(a) == sought(b):
			return 0
		case sought(a):
			return -1
		}
		return 1
	})
	return &found{out, v}, nil
}

// keepRecord saves the record of a finding as that of a run, with its pages.
func (a *app) keepRecord(d *results.Dir, run results.Run, t sim.Tape, f *found) error {
	run.Store, run.Schedules, run.Phase = f.Store, 1, results.Checked
	r := results.NewResult(run, *f.verdict)
	r.Finding, r.Load.Clients, r.Rerun = t.Property, t.Program.Clients, replayOf(d.File(results.TapePath), run)
	source, why := history.Simulated, results.NoLatency
	if run.Server != results.Simulator {
		source, why = history.AppendOnly, "not measured by a search"
	}
	r.SetLatency(nil, why)
	judge.Conclude(&r, f.verdict, judge.Ending{})
	out := &harness.Outcome{Run: run, Windows: f.Windows, Record: f.Recorded, Verdict: f.verdict, Result: r, Dir: d.Path()}
	err := errors.Join(
		d.SaveFunc(results.HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, f.Header, f.Ops) }),
		d.SaveFunc(results.CommandsFile, func(w io.Writer) error { return history.WriteCommands(w, f.Commands, f.Scripts) }),
		d.SaveFunc(results.FaultsFile, func(w io.Writer) error { return history.WriteWindows(w, f.Windows) }),
		d.SaveFunc(results.ServerFile, func(w io.Writer) error { return history.WriteServer(w, source, f.Effects) }),
		d.SaveResult(r), d.SaveRun(run))
	a.saveScenes(out)
	return errors.Join(err, saveViews(out))
}
