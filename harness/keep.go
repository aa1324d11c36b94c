package harness

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// keeper saves a run: when it started, when it was driven, when it was checked. Without a directory it keeps nothing.
type keeper struct {
	run results.Run
	dir *results.Dir // nil: nothing is saved
}

// open makes the run directory and saves what is known before anything runs.
func (e Experiment) open(ctx context.Context) (*keeper, error) {
	id, err := results.NewID(e.Random)
	if err != nil {
		return nil, err
	}
	k := &keeper{run: results.Run{
		Schema: results.RunSchema, ID: id, Argv: e.Argv, Seed: e.Seed, PlanHash: e.PlanHash,
		Lock: e.Variant.Name, Scenario: e.Scenario.Name, Server: e.Provider.Name(), Chosen: e.Chosen, Start: e.Now().UTC(),
	}}
	if e.Base == "" {
		return k, nil
	}
	k.run.Environment = e.environment(ctx)
	if k.dir, err = results.Create(e.Base, e.Scenario.Name, e.Variant.Name, e.Now(), id); err != nil {
		return nil, err
	}
	text, err := e.Scenario.YAML()
	if err != nil {
		return nil, err
	}
	return k, errors.Join(k.saveRun(results.Started, e.Now()), k.dir.Save(results.ScenarioFile, text))
}

// environment is what the run is made on.
func (e Experiment) environment(ctx context.Context) results.Environment {
	if e.Environment != nil {
		return *e.Environment
	}
	build, _ := debug.ReadBuildInfo()
	return results.CaptureEnvironment(ctx, results.Machine{Root: os.DirFS("/"), Build: build, Dir: e.Checkout})
}

func (k *keeper) saveRun(p results.Phase, now time.Time) error {
	k.run.Phase, k.run.Duration = p, now.Sub(k.run.Start)
	if k.dir == nil {
		return nil
	}
	return k.dir.SaveRun(k.run)
}

// failed records why a run got no further.
func (k *keeper) failed(cause error, now time.Time) error {
	k.run.Failure = cause.Error()
	return k.saveRun(k.run.Phase, now)
}

func (k *keeper) path() string {
	if k.dir == nil {
		return ""
	}
	return k.dir.Path()
}

// settle makes of the recording what people and programs read. It is not done while clients run, whose time it would take. unsaved is what
// could not be written: the record is whole none the less.
func (k *keeper) settle(d *drive, recording *blocks) (r history.Recorded, unsaved, err error) {
	if recording == nil {
		return d.recorder.Recorded(), nil, nil
	}
	if r, err = recording.recorded(); err != nil {
		return r, nil, err
	}
	r.Header = d.header()
	if unsaved = k.saveHistory(r); unsaved == nil {
		unsaved = os.Remove(recording.file.Name())
	}
	return r, unsaved, nil
}

// saveHistory writes a run's history and its commands, each on a processor of its own.
func (k *keeper) saveHistory(r history.Recorded) error {
	var both errgroup.Group
	both.Go(func() error {
		return k.dir.SaveFunc(results.HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, r.Header, r.Ops) })
	})
	both.Go(func() error {
		return k.dir.SaveFunc(results.CommandsFile, func(w io.Writer) error { return history.WriteCommands(w, r.Commands, r.Scripts) })
	})
	return both.Wait()
}

// saveLatency writes the log and the spectra.
func (k *keeper) saveLatency(set *latency.Set, start, end time.Time) error {
	if k.dir == nil || set == nil {
		return nil
	}
	errs := []error{k.dir.SaveFunc(results.LatencyLog, func(w io.Writer) error { return set.WriteLog(w, start, end) })}
	for _, op := range set.Ops() {
		errs = append(errs, k.dir.SaveFunc(results.LatencyFolder+"/"+op+".hgrm", func(w io.Writer) error { return set.WriteSpectrum(w, op) }))
	}
	return errors.Join(errs...)
}

// saveResult writes what came out, and then that the run was checked. What people read is derived from it, and not made here.
func (k *keeper) saveResult(out *Outcome, now time.Time) error {
	if k.dir == nil {
		k.run.Phase = results.Checked
		return nil
	}
	return errors.Join(k.dir.SaveResult(out.Result), k.saveRun(results.Checked, now))
}
