package inject

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// Gate stands between one client and its connections, clock and steps. While it is shut nothing of
// the client goes on, its lock's background included. Once the client is killed, all of them return
// impls.ErrCrashed and its connections are closed, as its machine would close them.
//
// It stands in for SIGSTOP and SIGKILL in this process. What a library does between two uses of the
// gate (a computation, a timer) is not stopped.
type Gate struct {
	open   atomic.Bool // the fast path of Pass: not shut, not dead
	mu     sync.Mutex  // guards the fields below, and every change of open
	moved  *sync.Cond  // signalled when shut changes or the client dies
	shut   bool
	killed bool
	dead   chan struct{} // closed when the client dies
	conns  map[net.Conn]struct{}
}

func newGate() *Gate {
	g := &Gate{dead: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	g.moved = sync.NewCond(&g.mu)
	g.open.Store(true)
	return g
}

// Pass waits until the gate is open and returns nil, or impls.ErrCrashed when the client is dead.
func (g *Gate) Pass() error {
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

func (g *Gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.open.Store(!shut && !g.killed)
	g.moved.Broadcast()
}

func (g *Gate) crash() error {
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

// keep registers a connection to be closed with the client; it returns false if the client is dead
// already.
func (g *Gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.killed {
		g.conns[c] = struct{}{}
	}
	return !g.killed
}

func (g *Gate) forget(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// gated is a connection of a client that is not recorded.
type gated struct {
	net.Conn
	gate *Gate
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
func (g *Gate) Clock(skew time.Duration) impls.Clock { return gatedClock{g, skew} }

type gatedClock struct {
	gate *Gate
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
