package inject

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/servers"
)

// World is real clients, links and servers, as faults are done to them.
type World struct {
	cfg    Config
	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	work   sync.WaitGroup // what After has arranged

	evicting sync.Mutex // one eviction at a time: each sets the server's memory limit, and sets it back

	mu      sync.Mutex // protects what follows
	clients map[int]Client
	skews   map[int]time.Duration
	slow    map[int]time.Duration
	owner   string
	clocks  map[int]time.Duration // how far each node's clock was moved
	cut     bool                  // the replication was cut
}

// Config is what a World is made of.
type Config struct {
	Timeline func() int64       // nanoseconds on the run's base
	Servers  servers.Deployment // the lock's
	Proxy    *Proxy             // between every client and every node; nil when the run has no fault of the network
	// Keys lists what the lock keeps on a node.
	Keys func(ctx context.Context, node int) ([]string, error)
}

var _ faults.World = (*World)(nil)

// NewWorld makes a World without clients.
func NewWorld(cfg Config) *World {
	ctx, cancel := context.WithCancel(context.Background())
	return &World{cfg: cfg, ctx: ctx, cancel: cancel, clients: map[int]Client{}, skews: map[int]time.Duration{}, slow: map[int]time.Duration{},
		clocks: map[int]time.Duration{}}
}

// Enlist adds the client with a number from 1.
func (w *World) Enlist(number int, c Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[number] = c
}

// SetProxy returns the proxy, which may be made after the world.
func (w *World) SetProxy(p *Proxy) { w.cfg.Proxy = p }

// Stop forgets what was arranged and waits for what has begun.
func (w *World) Stop() {
	w.cancel()
	w.work.Wait()
}

// Now is nanoseconds on the run's base.
func (w *World) Now() int64 { return w.cfg.Timeline() }

// After calls do after d in a goroutine of its own.
func (w *World) After(d time.Duration, do func()) {
	w.work.Go(func() {
		if sleep(w.ctx.Done(), d) && w.ctx.Err() == nil {
			do()
		}
	})
}

func (w *World) client(number int) (Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.clients[number]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("%w: there is no client %d", faults.ErrNothing, number)
}

// PauseClient stops everything of a client.
func (w *World) PauseClient(ctx context.Context, number int) (faults.Undo, error) {
	c, err := w.client(number)
	if err != nil {
		return nil, err
	}
	return c.Pause(ctx)
}

// CrashClient kills a client.
func (w *World) CrashClient(ctx context.Context, number int) error {
	c, err := w.client(number)
	if err != nil {
		return err
	}
	return c.Crash(ctx)
}

// CancelClient cancels a client's acquire.
func (w *World) CancelClient(ctx context.Context, number int) error {
	c, err := w.client(number)
	if err != nil {
		return err
	}
	return c.Cancel(ctx)
}

// HoldClient keeps a client at its moment.
func (w *World) HoldClient(_ context.Context, number int) (faults.Undo, error) {
	c, err := w.client(number)
	if err != nil {
		return nil, err
	}
	return c.Hold(), nil
}

// SkewClient sets how far a client's clock is off, for Skew.
func (w *World) SkewClient(number int, by time.Duration) { w.skews[number] += by }

// SlowClient sets how long a client's work takes, for Work.
func (w *World) SlowClient(number int, work time.Duration) { w.slow[number] = work }

// CollideOwners sets the owner id of all clients, for Owner.
func (w *World) CollideOwners() string {
	w.owner = faults.SharedOwner
	return w.owner
}

// Skew is how far a client's clock is off.
func (w *World) Skew(number int) time.Duration { return w.skews[number] }

// Work is how long a client's work inside a section takes; 0 means as the workload says.
func (w *World) Work(number int) time.Duration { return w.slow[number] }

// Owner is the owner id of all clients; "" when each has its own.
func (w *World) Owner() string { return w.owner }
