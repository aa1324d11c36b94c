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
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// serverDriver runs an experiment on real servers. It holds what the clients, the faults and the
// recorders share.
type serverDriver struct {
	Experiment
	servers    *deployment // nil before deploy
	prefix     string
	base       time.Time // of the run's timeline
	clockError int64     // nanoseconds by which the processes' clocks may disagree
	recorder   *history.Recorder
	joining    sync.Mutex // guards records while clients join
	records    []*clientRecord
	overlaps   *overlaps // nil for a lock that admits several holders
	world      *inject.World
	director   *faults.Director
	proxy      *inject.Proxy          // between all clients and all servers, the guarded store's included; nil: none
	routes     []map[int]*inject.Link // by client, by node; storeNode is the store
	leader     inject.Leader          // nil: messages pass as they come
	replayer   *inject.Replayer       // the leader of a run that replays a schedule
	lead       context.CancelFunc     // ends the leader
	leading    sync.WaitGroup

	steps    *stepsOf          // of the servers' logs; nil: they keep none
	children childProcesses    // of a subject; empty for a lock of this process
	names    map[string]string // of scripts, by digest
	scripts  *inject.Scripts   // on a user's servers, which may know them from before; nil elsewhere
	relay    *workloads.Relay  // nil with one client
	ended    int64             // when the last client was done
	stall    time.Duration     // longest time that the machine kept this process waiting
	asked    <-chan struct{}   // closed when the run is interrupted; Stop is closed at its end, too
}

var _ driver = (*serverDriver)(nil)

func newServerDriver(e Experiment) *serverDriver {
	d := &serverDriver{Experiment: e, asked: e.Stop, prefix: e.Prefix, recorder: &history.Recorder{},
		names: workloads.NameScripts(catalogue.ScriptNames())}
	if e.Variant.Kind != history.Semaphore {
		d.overlaps = new(overlaps)
	}
	if e.Provider.Guest() {
		d.scripts = new(inject.Scripts)
	}
	return d
}

func (d *serverDriver) deploy(ctx context.Context) (nodes []history.Server, err error) {
	if d.servers, err = d.startServers(ctx); err != nil {
		return nil, err
	}
	if nodes, err = d.servers.lock.Info(ctx); err != nil {
		return nil, fmt.Errorf("ask the servers who they are: %w", err)
	}
	return nodes, nil
}

func (d *serverDriver) close() error {
	if d.servers == nil {
		return nil
	}
	return d.servers.close()
}

// drive runs the clients and returns what they did, whether or not they succeeded.
func (d *serverDriver) drive(ctx context.Context, save *saver) (*record, error) {
	var err error
	starting, started := Grace(ctx, d.asked, 0)
	if d.Subject.Exec != "" { // before the run's base is set
		d.children, d.clockError, err = d.startChildren(starting)
	}
	if err == nil {
		err = d.prepare(starting)
	}
	if err != nil && starting.Err() != nil {
		err = starting.Err()
	}
	started()
	if err != nil {
		return nil, errors.Join(err, d.children.close())
	}
	stop, release := d.stopping()
	defer release()
	d.Stop = stop
	err = d.arm(ctx)
	d.steps = d.newSteps()
	spool := startSpool(d, save.dir) // after arm, whose director its progress reads
	stalled := watchStalls(time.Now)
	if err == nil {
		running, ended := Grace(ctx, d.asked, clientGrace)
		err = d.runClients(running)
		ended()
	}
	err = errors.Join(err, d.children.close(), d.disarm())
	d.ended, d.stall = d.timeline(), stalled()
	recording, unsaved := spool.end()
	rec, unread := d.record(ctx, recording)
	if unread != nil {
		return nil, errors.Join(err, unsaved, unread)
	}
	rec.unsaved = unsaved
	return rec, errors.Join(err, d.audit(ctx, rec), d.answering(ctx))
}

// answering returns nil if every node responds at the end of a run without server faults: a run
// whose server was gone shows nothing about the lock.
func (d *serverDriver) answering(ctx context.Context) error {
	if d.harmsServers() {
		return nil
	}
	ctx, cancel := d.afterwards(ctx)
	defer cancel()
	for node := range d.servers.lock.Len() {
		c, err := d.servers.lock.Dial(ctx, node)
		if err == nil {
			end, _ := ctx.Deadline()
			if err = c.SetDeadline(end); err == nil {
				_, err = resp.Ask(c, "PING")
			}
			err = errors.Join(err, c.Close())
		}
		if err != nil {
			return fmt.Errorf("node %d: %w: %w", node+1, servers.ErrLost, err)
		}
	}
	return nil
}

// record reads back the recording or, if nothing is saved, takes what is in memory.
func (d *serverDriver) record(ctx context.Context, recording *blocks) (rec *record, err error) {
	rec = &record{Record: judge.Record{Windows: d.director.Complete()}, ended: d.ended}
	d.promotions(rec.Windows)
	if recording == nil {
		rec.Recorded = d.recorder.Recorded()
	} else if rec.Recorded, err = recording.recorded(); err != nil {
		return nil, err
	} else {
		rec.spooled = recording.file.Name()
	}
	rec.notes = failovers(rec)
	rec.Header = d.header()
	rec.errors.CountAll(rec.Ops, rec.Windows)
	if d.replayer != nil {
		order := d.replayer.Order()
		rec.order = &order
	}
	rec.reached = history.Reached(rec.Recorded, rec.Windows, d.reachable())
	d.effects(ctx, rec)
	return rec, nil
}

func (d *serverDriver) judge(ctx context.Context, rec *record) (*checker.Verdict, explain.Findings, error) {
	v, found, err := judge.Check(ctx, rec.Record, checker.Options{Seed: d.Seed})
	if err != nil {
		return nil, found, err
	}
	judge.Doubt(v, d.Scenario, rec.Windows)
	if d.Scenario.Clients > 1 {
		judge.DoubtMeetings(v, rec.Ops, rec.Windows)
	}
	return v, found, nil
}

// timeline returns the time since the run's base, in nanoseconds.
func (d *serverDriver) timeline() int64 { return int64(time.Since(d.base)) }

// prepare sets the run's base of time, prepares the guarded store, and makes what the clients
// share.
func (d *serverDriver) prepare(ctx context.Context) error {
	d.base = time.Now()
	w, _ := workloads.Find(d.Scenario.Workload)
	store, end := d.openStore()
	err := w.Prepare(ctx, store)
	if err = errors.Join(err, end()); err != nil {
		return fmt.Errorf("prepare workload %s: %w", w.Name(), err)
	}
	return err
}

// stopping returns a channel that is closed when the run's length is over or Stop is closed,
// whichever is first.
func (d *serverDriver) stopping() (stop <-chan struct{}, release func()) {
	if d.length() == 0 {
		return d.Stop, func() {}
	}
	asked, warm, over := d.Stop, d.warm(), d.warm()+d.length() // read here: Stop is replaced
	ch, quit := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		defer close(ch)
		for _, at := range []int64{warm, over} {
			select {
			case <-time.After(time.Duration(at - d.timeline())):
				if d.Measure != nil {
					d.Measure(at > warm)
				}
			case <-asked:
				return
			case <-quit:
				return
			}
		}
	})
	return ch, func() { close(quit); done.Wait() }
}

// warm returns the end of the warm-up, in nanoseconds from the run's base.
func (d *serverDriver) warm() int64 { return int64(d.Scenario.WarmUp.Of(d.lease())) }

// length returns for how many nanoseconds after the warm-up clients begin rounds; 0: until their
// rounds are done.
func (d *serverDriver) length() int64 { return int64(d.Scenario.Length.Of(d.lease())) }
