package sim

import (
	"cmp"
	"context"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/workloads"
)

// connBuffer is enough, in bytes, for every request and reply of a lock; a longer one is read in
// pieces.
const connBuffer = 1 << 10

// run is the client's goroutine.
func (c *client) run(ctx context.Context) {
	w, p := c.world, c.world.program
	// On several masters every round leaves requests without replies until the time-out. And of as
	// many failed dials in a row as its pool has room for, go-redis makes one a second: whether that
	// or a try at the same instant comes first would be up to the runtime.
	many := p.Topology == impls.Independent || slices.ContainsFunc(p.Faults, func(f faults.Spec) bool {
		kind, _ := faults.FindKind(f.Fault)
		return kind.Does.Any(history.Kills)
	})
	a := workloads.Access{
		Addrs: w.addrs, StoreAddr: nodeAddr(w.storeIndex()), Dial: c.dial, Clock: c, Timeline: w.timeline,
		At: c.at, Record: c, Seed: workloads.ClientSeed(p.Seed, c.index), Timeout: p.Timeout, Buffer: connBuffer, Pool: upstream.NobodyWaits(many),
	}
	v, config := p.Variant, p.Config
	v.Topology = p.Topology // on a cluster, clients use the cluster client, whatever the lock is made for
	config.Slow = c.standing.Work
	driven, closeClient := workloads.Connect(a, workloads.Setup{
		Variant: v, Config: config, Index: c.index, Owner: c.standing.Owner, Prefix: keyPrefix,
		Poll: p.Poll, Permits: p.Permits, Replicas: len(w.links) / len(w.addrs),
	})
	driven.Stop = w.stop
	driven.Scope = func(ctx context.Context) (context.Context, context.CancelFunc) {
		scoped, cancel := context.WithCancel(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		c.cancel = cancel
		return scoped, cancel
	}
	err := p.Workload.Run(ctx, driven)
	if e := closeClient(); err == nil && !c.crashed {
		err = e
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.done, c.err = true, err
	w.director.Left(c.index + 1)
	w.wakeDriver()
}

// keyPrefix begins every key of a simulated run.
const keyPrefix = "lb:"

var _ workloads.Recorder = (*client)(nil)

func (c *client) Begin(op history.Operation) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.recordClosed {
		return
	}
	c.open = append(c.open, op)
}

func (c *client) Add(op history.Operation) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i].Op == op.Op && c.open[i].Call == op.Call {
			c.open = append(c.open[:i], c.open[i+1:]...)
			break
		}
	}
	c.record(op)
}

// record records an operation; it gets its number when it is traced.
func (c *client) record(op history.Operation) {
	if c.recordClosed {
		return
	}
	op.Client = c.name
	if op.Op != history.Extend {
		c.commandsSince = 0
	}
	if c.world.bounds.Instant {
		c.order = mix(c.order, c.before(op))
	}
	c.ops = append(c.ops, op)
}

// dial opens a connection to a node. Under a context that has ended it fails at once: callers may
// dial under a mutex, while which time stands still.
func (c *client) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	i, err := nodeOf(addr)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "sim", Err: err}
	}
	failed := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "sim", Addr: simAddr(addr), Err: err}
	}
	w := c.world
	for {
		w.mu.Lock()
		server := w.serverAt(i)
		switch {
		case c.crashed, w.gone:
			w.mu.Unlock()
			return failed(impls.ErrCrashed)
		case !w.cut[cutKey{c.index, server.index}]:
			defer w.mu.Unlock()
			c.observe(uint64(i), bits(server.down))
			if server.down {
				return failed(syscall.ECONNREFUSED)
			}
			cn := &conn{world: w, client: c, node: i, server: server, changed: make(chan struct{}, 1)}
			cn.session = server.NewSession(cn)
			w.addConn(cn)
			return cn, nil
		}
		turn := make(chan struct{}) // closed when a retry may succeed
		w.dials = append(w.dials, waitingDial{w.now(), c.index, i, turn})
		w.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			w.mu.Lock()
			w.dials = slices.DeleteFunc(w.dials, func(d waitingDial) bool { return d.turn == turn })
			w.mu.Unlock()
			time.Sleep(lateness(c.index, i, 0)) // goroutines that wait only for the context come first
			return failed(ctx.Err())
		}
	}
}

// at announces a moment to the driver: faults placed there are injected, and a stopped client
// waits.
func (c *client) at(ctx context.Context, m history.Moment, key string) error {
	w, number := c.world, c.index+1
	var pass chan struct{} // nil if no fault may be injected there
	w.mu.Lock()
	if !c.recordClosed {
		w.director.Reach(number, m)
		e := faults.Event{Kind: faults.Moment, Client: number, Moment: m}
		if w.director.Plan().Watches(e) {
			pass = make(chan struct{})
			w.wakeDriver()
		}
		if pass != nil || w.trace.keep {
			c.moments = append(c.moments, &reachedMoment{e, pass})
		}
	}
	w.mu.Unlock()
	if pass != nil {
		<-pass
	}
	if err := c.waitUntilRunning(); err != nil {
		return err
	}
	return ctx.Err()
}

var _ impls.Clock = (*client)(nil)

// Now returns the client's clock: the bubble's plus the client's skew.
func (c *client) Now() time.Time { return time.Now().Add(c.standing.Skew) }

// Sleep waits in virtual time. No two sleeps end at the same nanosecond: each is lengthened a
// little to an instant reserved for the client, at which no other sleep of it ends. While the
// client is stopped, a sleep does not return; when it is dead, a sleep returns at once.
func (c *client) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		c.world.mu.Lock()
		end := time.Now().Add(c.ownInstant(d))
		for slices.Contains(c.world.sleeps, end) {
			end = end.Add(sleepers)
		}
		c.asleep++
		c.world.sleeps = append(c.world.sleeps, end)
		c.world.mu.Unlock()
		t := time.NewTimer(time.Until(end))
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-c.dead:
		}
		c.world.mu.Lock()
		c.observe(0, uint64(d))
		c.asleep--
		i := slices.Index(c.world.sleeps, end)
		c.world.sleeps = slices.Delete(c.world.sleeps, i, i+1)
		c.world.wakeDriver()
		c.world.mu.Unlock()
	}
	if err := c.waitUntilRunning(); err != nil {
		return err
	}
	return ctx.Err()
}

// The reserved instants repeat every sleepers nanoseconds. The number is prime, so that equal
// distances do not lead from one instant of a client to another, and large enough for each client
// to have several: goroutines of a client that sleep for different times must not wake at once
// either.
const (
	sleepers = 8209
	perOwner = sleepers / MaxClients
)

// ownInstant lengthens a sleep of d to the next instant reserved for the client and for sleeps of
// d.
func (c *client) ownInstant(d time.Duration) time.Duration {
	own := time.Duration(uint64(c.index)*perOwner + mix(hashStart, uint64(d))%perOwner)
	end := (c.world.now() + d) % sleepers
	return d + (own-end+sleepers)%sleepers
}

// waitUntilRunning returns nil once the client is not stopped, and impls.ErrCrashed when it is
// dead.
func (c *client) waitUntilRunning() error {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	for c.paused && !c.crashed {
		turn := make(chan struct{})
		c.waitingForResume = append(c.waitingForResume, turn)
		c.world.mu.Unlock()
		<-turn
		c.world.mu.Lock()
	}
	if c.crashed {
		return impls.ErrCrashed
	}
	return nil
}

// die ends everything that the client waits for.
func (c *client) die() {
	if !c.crashed {
		close(c.dead)
	}
	c.crashed, c.paused = true, false
	c.leaveMoment()
	for _, turn := range c.waitingForResume {
		close(turn)
	}
	c.waitingForResume = nil
	for _, cn := range c.world.conns {
		if cn.client == c {
			cn.wake()
		}
	}
}

// lastRound lets clients finish their rounds, and begin no others.
func (w *world) lastRound() {
	if !w.lastRounds {
		close(w.stop)
	}
	w.lastRounds = true
}

// leaveMoment releases a client that was held at a moment.
func (c *client) leaveMoment() {
	if c.blockedMoment != nil {
		close(c.blockedMoment)
	}
	c.blockedMoment = nil
}

// closeRecord records the client's pending operations as unfinished, and closes its record.
func (c *client) closeRecord(why string) {
	for _, op := range slices.Backward(c.open) {
		op.Return = c.world.timeline()
		if op.Op != history.Use {
			op.Outcome, op.Err = history.Unknown, why
		}
		c.record(op)
	}
	c.open = nil
	c.recordClosed = true
}

func (c *client) asks() bool {
	return slices.ContainsFunc(c.open, func(op history.Operation) bool { return op.Op == history.Acquire })
}

func (w *world) over() bool {
	return !slices.ContainsFunc(w.clients, func(c *client) bool { return !c.done })
}
