package harness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/workloads"
)

// drive is one run under way: what the clients, the faults and the recorders share.
type drive struct {
	Experiment
	field      *field
	prefix     string
	base       timebase
	timeline   func() int64 // nanoseconds since base
	machine    int64        // base on the machine's monotonic clock, for clients that are processes
	clockError int64        // nanoseconds by which those may disagree
	recorder   *history.Recorder
	joining    sync.Mutex // protects latency and lags while clients join
	latency    []*latency.Recorder
	lags       []*lag
	counts     counts
	windows    windows
	injection
	children childProcesses    // of a subject; empty for a lock of this process
	names    map[string]string // of scripts, by digest
	relay    *workloads.Relay  // nil with one client, and with clients that are processes

	ended    int64                        // when the last client was done
	stall    time.Duration                // longest that the machine kept this process waiting
	recorded history.Recorded             // what they did, once they are done
	store    map[string]checker.StoreEnds // what the audit found
	notes    []string                     // warnings that must be shown
	unsaved  error                        // what of the record could not be written; a run is judged all the same
}

// goroutines runs every client as a goroutine until all are done.
func (d *drive) goroutines(ctx context.Context) error {
	d.relay = workloads.NewRelay(d.Scenario.Clients)
	clients := make([]*member, d.Scenario.Clients)
	for i := range clients {
		clients[i] = d.join(ctx, i)
	}
	w, _ := workloads.Find(d.Scenario.Workload)
	d.begin(ctx)
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() { // a run that is abandoned waits for no stopped client; disarm says what went wrong
		defer close(ended)
		_ = d.endFaults()
	})
	for _, m := range clients {
		group.Go(func() error { return d.work(ctx, w, m) })
	}
	err := group.Wait() // which ends ctx
	<-ended
	for _, m := range clients {
		err = errors.Join(err, m.close())
	}
	return err
}

// work drives one client. A client that was killed by its plan has done what it was there for.
func (d *drive) work(ctx context.Context, w workloads.Workload, m *member) error {
	over := d.children.watch(ctx, m.client.Index)
	err := w.Run(ctx, m.client)
	over()
	d.director.Left(m.client.Index + 1)
	if gone := d.children.err(m.client.Index); gone != nil {
		return gone
	}
	if err == nil || errors.Is(err, impls.ErrCrashed) {
		return nil
	}
	return fmt.Errorf("client %s: %w", m.client.Name, err)
}

// member is one in-process client with what has to be ended after it.
type member struct {
	client *workloads.Client
	close  func() error
}

// join makes the client with an index: its gate, its wires, its recorders.
func (d *drive) join(ctx context.Context, index int) *member {
	body, rec := inject.NewGoroutine(), d.newRecord(index)
	d.world.Enlist(index+1, d.children.body(index, body))
	wire := &inject.Wire{Gate: body.Gate, Client: index + 1, Done: rec.AddCommand, Timeline: d.timeline,
		Names: d.names, Source: rec.AddScript, First: firstConnection(index), Dial: d.dialer(index), Node: d.field.node}
	if plan := d.director.Plan(); plan.WatchesMessages(index+1, faults.Leaving, faults.Returning) {
		wire.Operation = func(toStore bool) faults.Operation { return plan.Operation(index+1, toStore) }
		wire.Watch = func(e faults.Event) error {
			d.director.Event(ctx, e, nil)
			return body.Rest(ctx)
		}
	}
	d.watchChild(index, wire, rec)
	access := workloads.Access{
		Addrs: d.field.addrs(), StoreAddr: storeAddr, Dial: wire.Open, Clock: body.Clock(d.world.Skew(index + 1)),
		Timeline: d.timeline, Record: rec, Seed: clientSeed(d.Seed, index), Timeout: replyTimeout(d.lease()),
		At: d.moments(index, body),
	}
	setup := d.setup(index)
	setup.Variant = d.throughChild(ctx, index, body.Gate, setup.Variant)
	client, closeClient := workloads.Connect(access, setup)
	client.Relay = d.relay
	client.Observe, client.Stop, client.Pace = rec.observe, d.Stop, workloads.ConstantPace(d.Scenario.Rate, d.Scenario.Clients, index)
	if d.has(named(faults.CancelClient)) {
		client.Scope = body.Scope
	}
	return &member{client, func() error { return closing(body.Gate, closeClient) }}
}

// firstConnection numbers a client's connections apart from all others'.
func firstConnection(index int) uint64 { return uint64(index+1) << 32 }

// closing ends a client's locks and connections. Whatever a dead client's say is of no interest.
func closing(gate *inject.Gate, end func() error) error {
	err := end()
	if gate.Pass() != nil {
		return nil
	}
	return err
}

// moments does what is placed at a client's moments, and holds the client there as long as that asks.
func (d *drive) moments(index int, body *inject.Goroutine) func(context.Context, history.Moment, string) error {
	return func(ctx context.Context, m history.Moment, key string) error {
		if d.replayer != nil {
			d.replayer.Moment(ctx, workloads.ClientName(index), m)
		}
		d.reach(index+1, m)
		d.director.Event(ctx, faults.Event{Kind: faults.Moment, Client: index + 1, Moment: m}, nil)
		return body.Rest(ctx)
	}
}

func (d *drive) setup(index int) workloads.Setup {
	v := d.Variant
	cfg := d.config()
	cfg.Slow = d.world.Work(index + 1)
	v.Topology = d.topology() // the scenario's, when it has one: on a cluster clients are the cluster's
	return workloads.Setup{
		Variant: v, Config: cfg, Index: index, Clients: d.Scenario.Clients, Owner: d.world.Owner(),
		Prefix: d.prefix, Poll: d.Scenario.Poll.Of(d.lease()), Permits: d.Scenario.Permits,
	}
}

// replyTimeout bounds the wait for one reply: long enough for a stalled server to come back, short enough for a run to end.
func replyTimeout(lease time.Duration) time.Duration { return max(2*lease, time.Second) }

// clientSeed returns each client its own stream from the seed of the run.
func clientSeed(seed uint64, index int) [32]byte {
	var s [32]byte
	binary.LittleEndian.PutUint64(s[:], seed)
	binary.LittleEndian.PutUint64(s[8:], uint64(index)+1)
	return s
}

// scriptNames are the names of all scripts that may be seen on a wire.
func scriptNames() map[string]string {
	names := catalogue.ScriptNames()
	for _, s := range workloads.Scripts() {
		names[s.Digest()] = s.Name
	}
	return names
}
