// Package harness runs one experiment: a lock, a scenario, a provider of servers or the simulator. It brings the servers up, connects the
// clients, lets a workload drive them while faults are placed, records what every client saw, has the record judged, and saves it three
// times: when it started, when it was driven, when it was checked. [Run] is that sequence; what differs between servers and the simulator is
// behind the interface driver.
//
// Clients are goroutines, for throughput, or processes of their own that are really stopped and really killed. Which it is changes
// nothing else: the same workload code talks to the same lock code, and the same Director places the faults.
//
// It refuses to judge: the checker does. It refuses to lose what was recorded: operations, commands and fault windows are spooled
// while the run goes on, and the history is saved before it is checked. [Suite] runs many experiments side by side, each on servers of
// its own, and holds each against what the catalogue expects.
package harness

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// Outcome is a finished run.
type Outcome struct {
	Run     results.Run
	Result  results.Result
	Verdict *checker.Verdict
	Windows []history.Window
	Record  history.Recorded // what the clients did and sent; of a simulated run, in the schedule that was kept
	Dir     string           // of the run; "" when nothing was saved
	Order   *faults.Order    // of a run that was led through a schedule
}

// driver makes an experiment in one world: on servers, or in the simulator. Run calls its methods in this order, close always.
type driver interface {
	// deploy brings the servers up and describes them; the simulator has none.
	deploy(ctx context.Context) ([]results.Node, error)
	// drive lets the clients run while faults are placed. It returns what was recorded whatever became of them, nil when nothing was.
	drive(ctx context.Context, save *saver) (*record, error)
	// judge has the record checked and explained.
	judge(ctx context.Context, rec *record) (*checker.Verdict, explain.Findings, error)
	// measure fills in what was measured, and returns the latencies; nil where they mean nothing.
	measure(r *results.Result, rec *record) *latency.Set
	// close takes the servers down.
	close() error
}

// record is what is known of a run once its clients are done.
type record struct {
	history.Recorded
	windows   []history.Window
	store     map[string]checker.StoreEnds // what the guarded store held before and after
	errors    results.AcquireErrors
	failovers *results.Failovers
	order     *faults.Order // of a run that was led through a schedule
	ended     int64         // when the last client was done
	notes     []string      // that must be shown
	unsaved   error         // what could not be written while clients ran; a run is judged all the same
	spooled   string        // the file that was written while clients ran, of no use once the record is saved; "" for none
}

// Run makes one experiment. When it returns an error with an Outcome, the run got as far as the Outcome says and what was
// recorded is saved. Closing e.Stop ends a run early and is no error; the end of ctx abandons it.
func Run(ctx context.Context, e Experiment) (*Outcome, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	save, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	if e.Prefix == "" && e.Provider.Name() == "url" {
		e.Prefix = "lockbench:" + save.run.ID + ":" // nothing of its owner's may be touched
	}
	out, err := e.run(ctx, e.driver(), save)
	if err != nil {
		err = errors.Join(err, save.failed(err, e.Now()))
	}
	return out, err
}

// driver is the one of the experiment's world.
func (e Experiment) driver() driver {
	if s, ok := e.Provider.(*Sim); ok {
		return &simDriver{Experiment: e, pool: s}
	}
	return newServerDriver(e)
}

func (e Experiment) run(ctx context.Context, d driver, save *saver) (out *Outcome, err error) {
	e.tell(Progress{Phase: "servers"})
	defer func() { err = errors.Join(err, d.close()) }()
	nodes, err := d.deploy(ctx)
	if err != nil {
		return nil, err
	}
	if err := save.started(nodes, e.Now()); err != nil {
		return nil, err
	}
	rec, err := d.drive(ctx, save)
	if rec == nil {
		return &Outcome{Run: save.run, Dir: save.path()}, err
	}
	unsaved := errors.Join(rec.unsaved, save.driven(rec, e.Now()))
	out = &Outcome{Run: save.run, Windows: rec.windows, Record: rec.Recorded, Dir: save.path(), Order: rec.order}
	if err != nil {
		return out, errors.Join(err, unsaved)
	}
	if unsaved != nil {
		rec.notes = append(rec.notes, "not all of the record could be saved; what was found is of the whole")
	}
	return out, errors.Join(e.check(ctx, d, save, rec, out), unsaved)
}

// check has the record judged, and saves what came out. A checker that fails loses nothing: the record is on disk.
func (e Experiment) check(ctx context.Context, d driver, save *saver, rec *record, out *Outcome) error {
	e.tell(Progress{Phase: "checking", Elapsed: nanoseconds(rec.ended)})
	v, found, err := d.judge(context.WithoutCancel(ctx), rec)
	if err != nil {
		return fmt.Errorf("check the history: %w", err)
	}
	out.Verdict = v
	out.Verdict.Notes = append(out.Verdict.Notes, rec.notes...)
	r := results.NewResult(save.run, *out.Verdict)
	r.Rerun, r.Failovers = e.Rerun, rec.failovers
	set := d.measure(&r, rec)
	r.Doubt(rec.errors.Reason())
	out.Verdict.Verdict = r.Verdict
	r.Gates = r.CheckGates(e.gates())
	out.Result = r
	err = errors.Join(save.executed(found), save.checked(out, set, rec.ended, e.Now()))
	out.Run = save.run
	return err
}

func (e Experiment) tell(p Progress) {
	if e.Progress != nil {
		e.Progress(p)
	}
}
