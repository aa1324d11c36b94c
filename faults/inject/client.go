package inject

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// Goroutine is a client that runs in this process, behind a gate between it and its connections,
// clock and steps. While the gate is shut nothing of the client goes on, its lock's background
// included. Once the client is killed, all of them return impls.ErrCrashed and its connections are
// closed, as its machine would close them.
//
// The gate stands in for SIGSTOP and SIGKILL in this process. What a library does between two uses
// of the gate (a computation, a timer) is not stopped.
type Goroutine struct {
	holds // at its moment

	open   atomic.Bool // the fast path of Pass: not shut, not dead
	mu     sync.Mutex  // guards the fields below, and every change of open
	moved  *sync.Cond  // signalled when shut changes or the client dies
	shut   bool
	killed bool
	dead   chan struct{} // closed when the client dies
	conns  map[net.Conn]struct{}
	cancel context.CancelFunc // of the acquire under way; nil when there is none
}

var _ faults.Client = (*Goroutine)(nil)

// NewGoroutine returns a client that nothing holds up.
func NewGoroutine() *Goroutine {
	g := &Goroutine{dead: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	g.moved = sync.NewCond(&g.mu)
	g.open.Store(true)
	return g
}

// Pass waits until the gate is open and returns nil, or impls.ErrCrashed when the client is dead.
func (g *Goroutine) Pass() error {
	if g.open.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut && !g.killed {
		g.moved.Wait()
	}
	if g.killed {
		return impls.ErrCrashed
	}
	return nil
}

// Pause shuts the gate.
func (g *Goroutine) Pause(context.Context) (faults.Undo, error) {
	g.set(true)
	return func(context.Context) error { g.set(false); return nil }, nil
}

func (g *Goroutine) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.open.Store(!shut && !g.killed)
	g.moved.Broadcast()
}

// Crash kills the client.
func (g *Goroutine) Crash(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.killed {
		return nil
	}
	g.killed = true
	g.open.Store(false)
	close(g.dead)
	g.moved.Broadcast()
	var errs []error
	for c := range g.conns {
		errs = append(errs, c.Close())
	}
	clear(g.conns)
	return errors.Join(errs...)
}

// Cancel cancels the acquire under way.
func (g *Goroutine) Cancel(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel == nil {
		return fmt.Errorf("%w: no acquire is under way", faults.ErrNothing)
	}
	g.cancel()
	return nil
}

// Rest returns when nothing holds the client at its moment and its gate is open: nil,
// impls.ErrCrashed if it is dead, or the error of ctx.
func (g *Goroutine) Rest(ctx context.Context) error {
	if !g.Wait(ctx.Done(), g.dead) && ctx.Err() != nil {
		return ctx.Err()
	}
	return g.Pass()
}

// Scope returns the context under which the client's next acquire runs, so that a fault can cancel
// it.
func (g *Goroutine) Scope(ctx context.Context) (context.Context, context.CancelFunc) {
	scoped, cancel := context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel = cancel
	return scoped, func() {
		g.mu.Lock()
		g.cancel = nil
		g.mu.Unlock()
		cancel()
	}
}

// keep registers a connection to be closed with the client; it returns false if the client is dead
// already.
func (g *Goroutine) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.killed {
		g.conns[c] = struct{}{}
	}
	return !g.killed
}

func (g *Goroutine) forget(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// gated is a connection of a client that is not recorded.
type gated struct {
	net.Conn
	gate *Goroutine
}

func (c *gated) Write(p []byte) (int, error) {
	if err := c.gate.Pass(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *gated) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if gone := c.gate.Pass(); gone != nil {
		return 0, gone
	}
	return n, err
}

func (c *gated) Close() error {
	c.gate.forget(c.Conn)
	return c.Conn.Close()
}

// Clock returns the client's clock plus skew behind the gate: no sleep ends while it is shut, and a
// dead client's ends at once with impls.ErrCrashed.
func (g *Goroutine) Clock(skew time.Duration) impls.Clock { return gatedClock{g, skew} }

type gatedClock struct {
	gate *Goroutine
	skew time.Duration
}

func (c gatedClock) Now() time.Time { return impls.SystemClock{}.Now().Add(c.skew) }

func (c gatedClock) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		case <-c.gate.dead:
		}
	}
	if err := c.gate.Pass(); err != nil {
		return err
	}
	return ctx.Err()
}
