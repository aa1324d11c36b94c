// Package inject applies faults to real clients, links and servers: [World] implements
// faults.World.
//
// Faults of a client in this process go through its [Goroutine], those of messages and the network
// through a [Proxy] between clients and nodes, those of servers to a servers.Deployment. What stops
// a client at its moment, or a message on its way, until it is released, is a [holds]. A [Wire]
// records a client's commands. A [Replayer] lets messages pass in a tape's order, a [Sequencer] one
// by one.
package inject

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/servers"
)

// World implements [faults.World], which documents its methods, on real clients, links and servers.
type World struct {
	cfg    Config
	proxy  *Proxy          // nil: none
	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	work   sync.WaitGroup // what After has started

	evicting sync.Mutex  // one eviction at a time: each sets the server's memory limit and restores it
	cut      atomic.Bool // the replication was cut

	mu      sync.Mutex // guards clients
	clients map[int]faults.Client
}

// Config configures a World.
type Config struct {
	Timeline func() int64       // nanoseconds on the run's base
	Servers  servers.Deployment // the lock's
	// Keys lists the lock's keys on a node.
	Keys func(ctx context.Context, node int) ([]string, error)
}

var _ faults.World = (*World)(nil)

// NewWorld returns a World without clients.
func NewWorld(cfg Config) *World {
	ctx, cancel := context.WithCancel(context.Background())
	return &World{cfg: cfg, ctx: ctx, cancel: cancel, clients: map[int]faults.Client{}}
}

// Enlist adds a client under its number, from 1.
func (w *World) Enlist(number int, c faults.Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[number] = c
}

// SetProxy sets the proxy between every client and every node. A run without faults of the network
// has none.
func (w *World) SetProxy(p *Proxy) { w.proxy = p }

// Stop cancels what After has scheduled and waits for what has begun.
func (w *World) Stop() {
	w.cancel()
	w.work.Wait()
}

func (w *World) Now() int64 { return w.cfg.Timeline() }

// After calls do after d, in its own goroutine.
func (w *World) After(d time.Duration, do func()) {
	w.work.Go(func() {
		if sleep(w.ctx.Done(), d) && w.ctx.Err() == nil {
			do()
		}
	})
}

func (w *World) Client(number int) (faults.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.clients[number]
	if !ok {
		return nil, fmt.Errorf("%w: there is no client %d", faults.ErrNothing, number)
	}
	return c, nil
}
