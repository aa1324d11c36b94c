package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/scenarios"
)

// saver saves a run by phase: open (requested), started (servers are up), driven (clients are
// done), checked, or failed. Without dir it writes nothing.
type saver struct {
	run results.Run
	dir *results.Dir // nil: nothing is saved
	use io.Closer    // of dir: tells others that the run is under way
	log bytes.Buffer // contents of lockbench.log
}

// open creates the run directory and saves what is known before anything runs.
func (e Experiment) open(ctx context.Context) (*saver, error) {
	id, err := results.NewID(e.Random)
	if err != nil {
		return nil, err
	}
	plan, err := e.Scenario.Hash(e.Seed, e.Variant.Name)
	if err != nil {
		return nil, err
	}
	workload := "" // that the user gave a built-in scenario; one in a file has that of the file or command line
	if own, known := scenarios.Find(e.Scenario.Name); known && own.Workload != e.Scenario.Workload {
		workload = e.Scenario.Workload
	}
	s := &saver{run: results.Run{
		Schema: results.RunSchema, ID: id, Argv: e.Argv, Seed: e.Seed, PlanHash: plan,
		LockAbout: e.Variant.Summary, ScenarioAbout: strings.TrimSpace(e.Scenario.About),
		Lock: e.Variant.Name, Scenario: e.Scenario.Name, Workload: workload, Server: e.Provider.Name(), Chosen: e.Chosen, Start: e.Now().UTC(),
	}}
	if e.Base == "" {
		return s, nil
	}
	if e.Environment != nil {
		s.run.Environment = *e.Environment
	} else {
		build, _ := debug.ReadBuildInfo()
		here := results.Machine{Root: os.DirFS("/"), Build: build, Dir: e.Checkout}
		s.run.Environment = results.CaptureEnvironment(ctx, here)
	}
	if s.dir, err = results.Create(e.Base, results.Name(e.Now(), id, e.Scenario.Name, e.Variant.Name), e.Aside); err != nil {
		return nil, err
	}
	text, err := e.Scenario.YAML()
	if err != nil {
		return nil, err
	}
	s.logf(e.Now(), "run %s: %s x %s on %s, seed %d", id, e.Variant.Name, e.Scenario.Name, e.Provider.Name(), e.Seed)
	if err = errors.Join(s.phase(results.Started, e.Now()), s.dir.Save(results.ScenarioFile, text)); err == nil {
		s.use, err = s.dir.Hold()
	}
	return s, err
}

// driven saves what the clients did. It runs after the clients, because it would take processor time
// from them.
func (s *saver) driven(rec *record, now time.Time) error {
	s.run.Store, s.run.Schedules = rec.Store, rec.schedules
	if s.dir == nil {
		return s.phase(results.Driven, now)
	}
	s.logf(now, "clients are done: %d operations, %d commands, %d fault windows", len(rec.Ops), len(rec.Commands), len(rec.Windows))
	for _, w := range rec.Windows {
		s.logf(now, "fault %s client %q node %d: %v to %v, confirmed %t %s", w.Fault, w.Client, w.Node, time.Duration(w.Start), time.Duration(w.End), w.Confirmed, w.Note)
	}
	err := s.dir.SaveRecord(rec.Recorded, rec.Windows, rec.source, rec.Effects)
	if err == nil && rec.spooled != "" {
		err = os.Remove(rec.spooled)
	}
	return errors.Join(err, s.phase(results.Driven, now))
}

// checked saves the latencies, the result, and, unless it was recorded, what each node executed as
// the causes of the violations were derived from it. Reports for people are derived from these
// files later.
func (s *saver) checked(out *Outcome, rec *record, found explain.Findings, set *latency.Set, now time.Time) error {
	if s.dir == nil {
		return s.phase(results.Checked, now)
	}
	s.logf(now, "checked: %s", out.Result.Verdict)
	for _, note := range out.Verdict.Notes {
		s.logf(now, "note: %s", note)
	}
	var errs []error
	if set != nil {
		errs = append(errs, s.dir.SaveFunc(results.LatencyLog, func(w io.Writer) error {
			return set.WriteLog(w, s.run.Start, s.run.Start.Add(time.Duration(rec.ended)))
		}))
		for _, op := range set.Ops() {
			errs = append(errs, s.dir.SaveFunc(results.LatencyFolder+"/"+op+".hgrm", func(w io.Writer) error { return set.WriteSpectrum(w, op) }))
		}
	}
	if rec.Effects == nil {
		if events := found.Effects; len(events) > 0 {
			errs = append(errs, s.dir.SaveFunc(results.ServerFile, func(w io.Writer) error {
				return history.WriteServer(w, history.Derived, events)
			}))
		}
	}
	return errors.Join(append(errs, s.dir.SaveResult(out.Result), s.phase(results.Checked, now))...)
}

func (s *saver) phase(p results.Phase, now time.Time) error {
	s.run.Phase, s.run.Duration = p, now.Sub(s.run.Start)
	if s.dir == nil {
		return nil
	}
	return errors.Join(s.dir.SaveRun(s.run), s.dir.Save(results.LogFile, s.log.Bytes()))
}

// logf adds a line to the log, which the next phase saves.
func (s *saver) logf(now time.Time, format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	fmt.Fprintf(&s.log, "%s %s\n", now.UTC().Format(time.RFC3339Nano), foreign.Text(text))
}
