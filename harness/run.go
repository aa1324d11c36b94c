package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// Outcome is a finished run.
type Outcome struct {
	Run     results.Run
	Result  results.Result
	Verdict *checker.Verdict
	Windows []history.Window
	Record  history.Recorded // what the clients did and sent; nothing when the run was made in the simulator
	Dir     string           // of the run; "" when nothing was saved
	Order   *faults.Order    // of a run that was led through a schedule
}

// Run makes one experiment. When it returns an error with an Outcome, the run got as far as the Outcome says and what was
// recorded is saved. Closing e.Stop ends a run early and is no error; the end of ctx abandons it.
func Run(ctx context.Context, e Experiment) (*Outcome, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	keep, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	if e.Prefix == "" && e.Provider.Name() == "url" {
		e.Prefix = "lockbench:" + keep.run.ID + ":" // nothing of its owner's may be touched
	}
	var out *Outcome
	if s, ok := e.Provider.(*Sim); ok {
		out, err = e.simulate(ctx, keep, s)
	} else {
		out, err = e.run(ctx, keep)
	}
	if err != nil {
		err = errors.Join(err, keep.failed(err, e.Now()))
	}
	return out, err
}

func (e Experiment) run(ctx context.Context, keep *keeper) (out *Outcome, err error) {
	e.tell(Progress{Phase: "servers"})
	f, err := e.deploy(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if keep.run.Nodes, err = f.describe(ctx); err != nil {
		return nil, fmt.Errorf("ask the servers who they are: %w", err)
	}
	if err := keep.saveRun(results.Started, e.Now()); err != nil {
		return nil, err
	}
	d, err := e.drive(ctx, f, keep)
	if err != nil {
		return &Outcome{Run: keep.run, Dir: keep.path()}, err
	}
	if d.unsaved != nil {
		d.notes = append(d.notes, "not all of the record could be saved; what was found is of the whole")
	}
	out, err = d.judge(ctx, keep)
	return out, errors.Join(err, d.unsaved)
}

// drive lets the clients run, and saves what they did whatever became of them.
func (e Experiment) drive(ctx context.Context, f *field, keep *keeper) (*drive, error) {
	d, err := e.newDrive(ctx, f)
	if err != nil {
		return nil, errors.Join(err, d.children.close())
	}
	stop, release := d.stopping()
	defer release()
	d.Stop = stop
	spool := keep.startSpool(d)
	stalls := watchStalls(time.Now)
	if err = d.arm(ctx); err == nil {
		err = d.clients(ctx)
	}
	err = errors.Join(err, d.children.close(), d.disarm())
	d.ended, d.stall = d.timeline(), stalls.end()
	recording, unsaved := spool.end()
	err = errors.Join(err, d.audit(ctx))
	var unwritten, unread error
	d.recorded, unwritten, unread = keep.settle(d, recording)
	keep.run.Store = d.store
	d.unsaved = errors.Join(unsaved, unwritten, keep.saveRun(results.Driven, e.Now()))
	if err = errors.Join(err, unread); err != nil {
		return d, errors.Join(err, d.unsaved)
	}
	return d, nil
}

// newDrive sets the run's base of time, prepares the guarded store, and makes what the clients share.
func (e Experiment) newDrive(ctx context.Context, f *field) (*drive, error) {
	base := newTimebase()
	d := &drive{Experiment: e, field: f, prefix: e.Prefix, base: base, timeline: base.now,
		recorder: history.NewRecorder(), names: scriptNames()}
	w, _ := workloads.Find(e.Scenario.Workload)
	store, end := d.openStore()
	err := w.Prepare(ctx, store, e.config())
	if err = errors.Join(err, end()); err != nil {
		return d, fmt.Errorf("prepare workload %s: %w", w.Name(), err)
	}
	if d.Subject.Exec != "" {
		return d, d.startChildren(ctx)
	}
	return d, d.shareBase()
}

// shareBase finds the base for clients in other processes, before the header is written that says how far they may disagree.
func (d *drive) shareBase() (err error) {
	if d.As != Processes {
		return nil
	}
	var gap int64
	d.machine, gap, err = d.base.onMachine()
	d.clockError = 2 * gap
	return err
}

// clients runs them as what they are to be.
func (d *drive) clients(ctx context.Context) error {
	if d.As == Processes {
		return d.processes(ctx)
	}
	return d.goroutines(ctx)
}

// stopping closes a channel when the run's length is over or somebody asks for its end, whichever is first.
func (d *drive) stopping() (stop <-chan struct{}, release func()) {
	if d.length() == 0 {
		return d.Stop, func() {}
	}
	asked, warm := d.Stop, d.warm()
	over := warm + d.length()
	ch, quit := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() { // owned by release
		defer close(done)
		for _, at := range []int64{warm, over} {
			t := time.NewTimer(time.Duration(at - d.timeline()))
			defer t.Stop()
			select {
			case <-t.C:
				d.measured(at > warm)
			case <-asked:
				close(ch)
				return
			case <-quit:
				return
			}
		}
		close(ch)
	}()
	return ch, func() { close(quit); <-done }
}

func (e Experiment) tell(p Progress) {
	if e.Progress != nil {
		e.Progress(p)
	}
}
