package inject

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// Client is a client that faults can stop, crash or cancel.
type Client interface {
	Pause(ctx context.Context) (resume faults.Undo, err error) // stops the client and everything in its background
	Crash(ctx context.Context) error                           // the client's later calls return impls.ErrCrashed
	Cancel(ctx context.Context) error                          // cancels the acquire under way
	Hold() (release faults.Undo)                               // stops the client at its moment; its lock's background goes on
}

// Goroutine is a client that runs in this process, behind a Gate.
type Goroutine struct {
	*Gate

	held   atomic.Bool        // there are holds: the fast path of Rest
	mu     sync.Mutex         // guards the fields below
	cancel context.CancelFunc // of the acquire under way; nil when there is none
	holds  []chan struct{}    // closed when released
}

// NewGoroutine returns a client that nothing holds up.
func NewGoroutine() *Goroutine { return &Goroutine{Gate: newGate()} }

var _ Client = (*Goroutine)(nil)

// Pause shuts the gate.
func (g *Goroutine) Pause(context.Context) (faults.Undo, error) {
	g.set(true)
	return func(context.Context) error { g.set(false); return nil }, nil
}

// Crash kills the client.
func (g *Goroutine) Crash(context.Context) error { return g.Gate.crash() }

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

// Hold stops the client at its moment until release is called.
func (g *Goroutine) Hold() faults.Undo {
	hold := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = append(g.holds, hold)
	g.held.Store(true)
	return func(context.Context) error { close(hold); return nil }
}

// Rest returns when nothing holds the client at its moment and its gate is open: nil, impls.ErrCrashed if it is dead, or the error of ctx.
func (g *Goroutine) Rest(ctx context.Context) error {
	for _, hold := range g.takeHolds() {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		case <-g.dead:
			return impls.ErrCrashed
		}
	}
	return g.Pass()
}

// takeHolds returns what holds the client, once.
func (g *Goroutine) takeHolds() []chan struct{} {
	if !g.held.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	holds := g.holds
	g.holds = nil
	g.held.Store(false)
	return holds
}

// Scope returns the context under which the client's next acquire runs, so that a fault can cancel it.
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
