package inject

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockbench/lockbench/faults"
)

// Goroutine is a client that runs in this process, behind a Gate.
type Goroutine struct {
	*Gate
	holds // at its moment

	mu     sync.Mutex         // guards cancel
	cancel context.CancelFunc // of the acquire under way; nil when there is none
}

// NewGoroutine returns a client that nothing holds up.
func NewGoroutine() *Goroutine { return &Goroutine{Gate: newGate()} }

var _ faults.Client = (*Goroutine)(nil)

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
