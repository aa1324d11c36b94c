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
	windows    faults.Windows
	director   *faults.Director
	injected   *injections
	names      map[string]string // of scripts, by digest

	ended    int64                        // when the last client was done
	stall    time.Duration                // longest that the machine kept this process waiting
	recorded history.Recorded             // what they did, once they are done
	store    map[string]checker.StoreEnds // what the audit found
	notes    []string                     // warnings that must be shown
}

// goroutines runs every client as a goroutine until all are done.
func (d *drive) goroutines(ctx context.Context) error {
	clients := make([]*member, d.Scenario.Clients)
	for i := range clients {
		clients[i] = d.join(ctx, i)
	}
	w, _ := workloads.Find(d.Scenario.Workload)
	d.injected.begin(ctx, d)
	timed, over := d.besides(ctx)
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range clients {
		group.Go(func() error { return d.work(ctx, w, m) })
	}
	err := group.Wait()
	over()
	timed.Wait()
	for _, m := range clients {
		err = errors.Join(err, m.close())
	}
	return err
}

// besides does to the clients what is placed at a time, until over is called.
func (d *drive) besides(ctx context.Context) (timed *sync.WaitGroup, over context.CancelFunc) {
	ctx, over = context.WithCancel(ctx)
	timed = &sync.WaitGroup{}
	for i := range d.Scenario.Clients {
		timed.Go(func() { d.director.Timed(ctx, i) })
	}
	return timed, over
}

// work drives one client. A client that was killed by its plan has done what it was there for.
func (d *drive) work(ctx context.Context, w workloads.Workload, m *member) error {
	err := w.Run(ctx, m.client)
	if err == nil || errors.Is(err, impls.ErrCrashed) {
		return nil
	}
	return fmt.Errorf("client %s: %w", m.client.Name, err)
}

// member is one in-process client with what has to be ended after it.
type member struct {
	client *workloads.Client
	gate   *faults.Gate
	close  func() error
}

// join makes the client with an index: its gate, its wires, its recorders.
func (d *drive) join(ctx context.Context, index int) *member {
	gate := faults.NewGate()
	rec := d.newRecord(index)
	d.director.Enlist(index, gate.Body(), d.Scenario.Faults)
	wire := &faults.Wire{Gate: gate, Tap: d.director.Tap(ctx, index, rec.AddCommand), Timeline: d.timeline,
		Names: d.names, Dial: d.dialer(index), Node: d.field.node}
	access := workloads.Access{
		Addrs: d.field.addrs(), StoreAddr: storeAddr, Dial: wire.Open, Clock: gate.Clock(d.skew(index)),
		Timeline: d.timeline, Record: rec, Seed: clientSeed(d.Seed, index), Timeout: replyTimeout(d.lease()),
		At: d.moments(index, gate),
	}
	client, closeClient := workloads.Connect(access, d.setup(index))
	client.Observe, client.Stop, client.Pace = rec.observe, d.Stop, pace(d.Scenario.Rate, d.Scenario.Clients, index)
	if d.has(faults.CancelClient) {
		client.Scope = func(ctx context.Context) (context.Context, context.CancelFunc) { return d.director.Scope(ctx, index) }
	}
	return &member{client, gate, func() error { return d.closing(gate, closeClient) }}
}

// closing ends a client's locks and connections. Whatever a dead client's say is of no interest.
func (d *drive) closing(gate *faults.Gate, end func() error) error {
	err := end()
	if gate.Pass() != nil {
		return nil
	}
	return err
}

// moments tells the director of a client's moments, and holds the client at its gate.
func (d *drive) moments(index int, gate *faults.Gate) func(context.Context, history.Moment, string) error {
	return func(ctx context.Context, m history.Moment, key string) error {
		if c := d.injected.conductor; c != nil {
			c.Moment(ctx, workloads.ClientName(index), m)
		}
		if err := d.director.At(ctx, index, m); err != nil {
			return err
		}
		return gate.Pass()
	}
}

func (d *drive) setup(index int) workloads.Setup {
	v := d.Variant
	v.Topology = d.topology() // the scenario's, when it has one: on a cluster clients are the cluster's
	return workloads.Setup{
		Variant: v, Config: d.config(), Index: index, Clients: d.Scenario.Clients, Owner: d.owner(),
		Prefix: d.prefix, Poll: d.Scenario.Poll.Of(d.lease()), Permits: d.Scenario.Permits, Settings: d.Settings,
	}
}

// owner is the owner id that colliding clients share; "" when each has its own.
func (d *drive) owner() string {
	if d.has(faults.CollideOwners) {
		return "thread-1"
	}
	return ""
}

// skew is how far a client's clock is off.
func (d *drive) skew(index int) time.Duration {
	for _, f := range d.Scenario.Faults {
		if f.Fault == faults.SkewClient && f.Client == index+1 {
			return f.By.Of(d.lease())
		}
	}
	return 0
}

// pace gives the intended starts of an open loop: the clients take turns at the rate of the run. nil is a closed loop.
func pace(rate float64, clients, index int) func(int) int64 {
	if rate == 0 {
		return nil
	}
	gap := float64(time.Second) / rate
	return func(n int) int64 { return int64(gap * float64(n*clients+index)) }
}

// replyTimeout bounds the wait for one reply: long enough for a stalled server to come back, short enough for a run to end.
func replyTimeout(lease time.Duration) time.Duration { return max(2*lease, time.Second) }

// clientSeed gives each client its own stream from the seed of the run.
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
