// Package harness runs one experiment: a lock, a scenario, and a provider of servers or the
// simulator. It starts the servers, connects the clients, lets a workload drive them while faults
// are applied, records what every client saw, checks the record, and saves it at three phases:
// started, driven, checked. [Run] is that sequence; the interface driver hides the difference
// between servers and the simulator.
//
// Clients are goroutines, or processes that are really stopped and killed. Workload, lock code and
// the Director of faults are the same for both.
//
// It does not judge: the checker does. It loses nothing: what happens is spooled during the run,
// and the history is saved before it is checked. [Suite] runs many experiments at once, each on its
// own servers, and compares each with what the catalogue expects.
package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// Outcome is a finished run.
type Outcome struct {
	Run     results.Run
	Result  results.Result
	Verdict *checker.Verdict // of what was recorded: it may pass where the result of an interrupted run does not
	Windows []history.Window
	Record  history.Recorded // what the clients did and sent; of a simulated run, in the kept schedule
	Dir     string           // of the run; "" if nothing was saved
	Order   *faults.Order    // of a run that replayed a schedule
}

// driver runs an experiment in one world: on servers, or in the simulator. Run calls its methods in
// this order, and close always.
type driver interface {
	// deploy starts the servers and describes them; the simulator has none.
	deploy(ctx context.Context) ([]history.Server, error)
	// drive runs the clients while faults are applied. It returns what was recorded even after an
	// error, nil if nothing was.
	drive(ctx context.Context, save *saver) (*record, error)
	// judge checks and explains the record.
	judge(ctx context.Context, rec *record) (*checker.Verdict, explain.Findings, error)
	// measure fills in the measurements and returns the latencies; nil if they are not meaningful.
	measure(r *results.Result, rec *record) *latency.Set
	// close stops the servers.
	close() error
}

// record holds what is known of a run once its clients are done.
type record struct {
	judge.Record
	errors    checker.Errors
	reached   history.Reach // by all schedules of a simulated run
	source    string        // where the effects come from
	order     *faults.Order // of a run that replayed a schedule
	schedules int           // of a simulated run, of which this is the record of one
	ended     int64         // when the last client was done
	notes     []string      // that must be shown
	unsaved   error         // why something could not be written during the run, which is judged all the same
	spooled   string        // the file written during the run, obsolete once the record is saved; "" for none
}

// Run runs one experiment. With an error, the Outcome says how far it got, and what was recorded is
// saved. Closing e.Stop ends a run early without an error; the end of ctx abandons it.
func Run(ctx context.Context, e Experiment) (*Outcome, error) {
	e, err := e.inProcesses()
	if err == nil {
		err = e.Validate()
	}
	if err != nil {
		return nil, err
	}
	save, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	if e.Prefix == "" && e.Provider.Guest() {
		e.Prefix = "lockbench:" + save.run.ID + ":" // keeps the run away from the user's own keys
	}
	var d driver
	if s, ok := e.Provider.(*Sim); ok {
		d = &simDriver{Experiment: e, pool: s}
	} else {
		d = newServerDriver(e)
	}
	out, err := e.run(ctx, d, save)
	if err != nil {
		save.run.Failure = err.Error()
		save.logf(e.Now(), "failed: %s", err)
		err = errors.Join(err, save.phase(save.run.Phase, e.Now()))
	}
	if save.use != nil {
		err = errors.Join(err, save.use.Close())
	}
	return out, err
}

func (e Experiment) run(ctx context.Context, d driver, save *saver) (out *Outcome, err error) {
	e.report(Progress{Phase: "servers"})
	defer func() { err = errors.Join(err, d.close()) }()
	starting, started := Grace(ctx, e.Stop, 0) // before the clients begin there is nothing to be kept
	nodes, err := d.deploy(starting)
	if err != nil && starting.Err() != nil {
		err = starting.Err() // and not what a server said that was not waited for
	}
	started()
	if err != nil {
		return nil, err
	}
	if save.run.Nodes = nodes; nodes != nil {
		for _, n := range nodes {
			save.logf(e.Now(), "server %s: %s", n.Name, n.Product())
		}
		if err := save.phase(results.Started, e.Now()); err != nil {
			return nil, err
		}
	}
	rec, err := d.drive(ctx, save)
	dir := ""
	if save.dir != nil {
		dir = save.dir.Path()
	}
	if rec == nil {
		return &Outcome{Run: save.run, Dir: dir}, err
	}
	if save.run.Interrupted = closed(e.Stop); save.run.Interrupted {
		rec.notes = append(rec.notes, fmt.Sprintf("interrupted after %s: what was recorded until then was judged", time.Duration(rec.ended).Round(time.Millisecond)))
	}
	unsaved := errors.Join(rec.unsaved, save.driven(rec, e.Now()))
	out = &Outcome{Run: save.run, Windows: rec.Windows, Record: rec.Recorded, Dir: dir, Order: rec.order}
	if err != nil {
		return out, errors.Join(err, unsaved)
	}
	if unsaved != nil {
		rec.notes = append(rec.notes, "not all of the record could be saved; what was found is of the whole")
	}
	return out, errors.Join(e.check(ctx, d, save, rec, out), unsaved)
}

// check judges the record and saves the result. If the checker fails nothing is lost: the record is
// on disk.
func (e Experiment) check(ctx context.Context, d driver, save *saver, rec *record, out *Outcome) error {
	e.report(Progress{Phase: "checking", Elapsed: time.Duration(rec.ended)})
	v, found, err := d.judge(ctx, rec)
	if err != nil {
		return fmt.Errorf("check the history: %w", BlameChild(e.Subject, err))
	}
	v.Notes = append(v.Notes, rec.notes...)
	r := results.NewResult(save.run, *v)
	r.Rerun, r.Reached = e.Rerun, rec.reached.Add(judge.Opportunities(v))
	set := d.measure(&r, rec)
	var gates []results.Gate
	for _, text := range e.Scenario.SLO {
		if g, err := results.ParseGate(text); err == nil { // [scenarios.Scenario.Validate] has parsed it
			gates = append(gates, g)
		}
	}
	judge.Conclude(&r, v, judge.Ending{Doubts: []string{r.Load.RateReason(rec.Windows), rec.errors.Reason()},
		Interrupted: save.run.Interrupted, Gates: gates})
	out.Verdict, out.Result = v, r
	err = save.checked(out, rec, found, set, e.Now())
	out.Run = save.run
	return err
}

func (e Experiment) report(p Progress) {
	if e.Progress != nil {
		e.Progress(p)
	}
}

// clientGrace is for how long clients may finish their rounds after an interrupt. Then what they
// wait for is cancelled, and what they did is judged.
const clientGrace = 2 * time.Second

// Grace returns a context that ends with its parent, or some time after stop was closed. The
// function that it returns releases it, and must be called.
func Grace(parent context.Context, stop <-chan struct{}, after time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-stop:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(after):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watch.Wait()
	}
}
