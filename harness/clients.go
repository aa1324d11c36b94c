package harness

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"

	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/workloads"
)

func (d *serverDriver) runClients(ctx context.Context) error {
	if d.overlaps != nil {
		d.overlaps.slack = d.clockError
	}
	d.relay = workloads.NewRelay(d.Scenario.Clients)
	clients, closers := make([]*workloads.Client, d.Scenario.Clients), make([]func() error, d.Scenario.Clients)
	for i := range clients {
		clients[i], closers[i] = d.join(ctx, i)
	}
	w, _ := workloads.Find(d.Scenario.Workload)
	leading, end := context.WithCancel(ctx)
	if d.lead = end; d.leader != nil {
		d.leading.Go(func() { d.leader.Run(leading, d.director) })
	}
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() { // an abandoned run does not wait for stopped clients; disarm reports the error
		defer close(ended)
		_ = d.endFaults()
	})
	for _, c := range clients {
		group.Go(func() error { return d.runClient(ctx, w, c) })
	}
	err := group.Wait() // which ends ctx
	<-ended
	for _, end := range closers {
		err = errors.Join(err, end())
	}
	return err
}

// runClient drives one client. A client killed by its plan ends without an error.
func (d *serverDriver) runClient(ctx context.Context, w *workloads.Workload, c *workloads.Client) error {
	over := func() {}
	if c.Index < len(d.children) { // its child is killed when ctx ends before it is done
		killed := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(killed)
			d.children[c.Index].Kill()
		})
		over = func() {
			if !stop() {
				<-killed
			}
		}
	}
	own, end := context.WithCancel(ctx) // the deadlines of its acquires must not affect other clients
	err := w.Run(own, c)
	end()
	over()
	d.director.Left(c.Index + 1)
	if c.Index < len(d.children) {
		if gone := d.children[c.Index].Err(); gone != nil { // its child has ended by itself
			return gone
		}
	}
	if err == nil || errors.Is(err, impls.ErrCrashed) {
		return nil
	}
	return fmt.Errorf("client %s: %w", c.Name, err)
}

// join makes the client with an index: its gate, its wires, its recorders. end closes it.
func (d *serverDriver) join(ctx context.Context, index int) (client *workloads.Client, end func() error) {
	name := workloads.ClientName(index)
	rec := &clientRecord{ClientRecorder: d.recorder.Client(name), name: name, warm: d.warm(),
		overlaps: d.overlaps, open: d.Scenario.Rate > 0}
	d.joining.Lock()
	d.records = append(d.records, rec)
	d.joining.Unlock()
	body := inject.NewGoroutine()
	wire := &inject.Wire{Gate: body, Client: index + 1, Done: rec.AddCommand, Timeline: d.timeline,
		Names: d.names, Source: rec.AddScript, Scripts: d.scripts, First: uint64(index+1) << 32, Dial: d.dialer(index), Node: d.servers.recorded,
		Plan: d.director.Plan(), Watch: func(e faults.Event) error {
			d.director.Event(ctx, e, nil)
			return body.Rest(ctx)
		}}
	access := workloads.Access{
		Addrs: d.servers.addrs(), StoreAddr: storeAddr, Dial: wire.Open, Clock: body.Clock(d.director.Standing(index + 1).Skew),
		Timeline: d.timeline, Record: rec, Seed: workloads.ClientSeed(d.Seed, index), Timeout: replyTimeout(d.lease()),
		At: d.moments(index, body),
	}
	setup := d.setup(index)
	var both faults.Client = body
	if index < len(d.children) {
		c := d.children[index]
		both = childBody{body, c.Child}
		d.watchChild(c, wire, rec)
		setup.Variant.New = d.throughChild(ctx, c, index, body)
	}
	d.world.Enlist(index+1, both)
	client, closeClient := workloads.Connect(access, setup)
	client.Relay = d.relay
	client.Observe, client.Stop, client.Pace = rec.observe, d.Stop, d.OpenLoop().Starts(index)
	if d.has(does(history.CancelsCall)) {
		client.Scope = body.Scope
	}
	return client, func() error {
		if err := closeClient(); body.Pass() == nil {
			return err
		}
		return nil // the errors of a dead client mean nothing
	}
}

// moments returns the function for a client's moments: it applies the faults there and waits.
// Without faults and a leader, clients share nothing there.
func (d *serverDriver) moments(index int, body *inject.Goroutine) func(context.Context, history.Moment, string) error {
	if d.leader == nil && d.director.Plan().Empty() {
		return func(ctx context.Context, _ history.Moment, _ string) error { return body.Rest(ctx) }
	}
	return func(ctx context.Context, m history.Moment, key string) error {
		if d.leader != nil {
			d.leader.Moment(ctx, workloads.ClientName(index), m)
		}
		d.director.Reach(index+1, m)
		d.director.Event(ctx, faults.Event{Kind: faults.Moment, Client: index + 1, Moment: m}, nil)
		return body.Rest(ctx)
	}
}

func (d *serverDriver) setup(index int) workloads.Setup {
	v := d.Variant
	cfg, standing := d.config(), d.director.Standing(index+1)
	cfg.Slow = standing.Work
	v.Topology = d.topology() // the scenario's, if set: on a cluster, clients use the cluster client
	replicas := 0
	switch n := d.servers.lock.Len(); v.Topology {
	case impls.Sentinel:
		replicas = n - 1
	case impls.Replicated, impls.Cluster:
		replicas = n/d.servers.primaries() - 1
	}
	return workloads.Setup{
		Variant: v, Config: cfg, Index: index, Owner: standing.Owner,
		Prefix: d.prefix, Poll: d.Scenario.Poll.Of(d.lease()), Permits: d.Scenario.Permits, Replicas: replicas,
	}
}

// replyTimeout bounds the wait for one reply: long enough for a stalled server to resume, short
// enough for a run to end.
func replyTimeout(lease time.Duration) time.Duration { return max(2*lease, time.Second) }

// clientRecord records what one client does: its history, and what the progress line shows.
type clientRecord struct {
	*history.ClientRecorder
	name     string
	waits    latency.Live
	warm     int64 // operations with an earlier intended start are not measured
	overlaps *overlaps
	counts   [history.Unknown + 1]atomic.Int64 // of its acquires by outcome, for the progress line

	open bool // its rounds begin by plan
	// when its acquires were to begin, in their order, in an open loop. Only the client's own
	// goroutine uses it during the run.
	intended []int64
}

// Begin does nothing for a client in this process: even when it dies, its calls return.
func (r *clientRecord) Begin(history.Operation) {}

func (r *clientRecord) Add(op history.Operation) {
	r.ClientRecorder.Add(op)
	if op.Op == history.Use {
		r.overlaps.add(r.name, op)
	}
	if op.Op == history.Acquire {
		r.counts[op.Outcome].Add(1)
	}
}

// observe keeps when an acquire was to begin, and its wait.
func (r *clientRecord) observe(op history.Op, outcome history.Outcome, intended, _, ret int64) {
	if op != history.Acquire {
		return
	}
	if r.open {
		r.intended = append(r.intended, intended)
	}
	if outcome == history.OK && intended >= r.warm {
		r.waits.Record(ret - intended)
	}
}
