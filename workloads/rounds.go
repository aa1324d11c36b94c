package workloads

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Workload is what the clients of a run do. It has no state: all clients share one value.
type Workload struct {
	name, about string
	prepare     func(ctx context.Context, s Store) error          // nil: the store needs none
	guarded     func(cfg Config) map[string]int64                 // nil: it writes nothing
	round       func(ctx context.Context, c *Client, n int) error // round n, from 0
}

// Name returns its name in scenarios.
func (w *Workload) Name() string { return w.name }

// About describes it in one sentence.
func (w *Workload) About() string { return w.about }

// Prepare fills the guarded store before the first client starts.
func (w *Workload) Prepare(ctx context.Context, s Store) error {
	if w.prepare == nil {
		return nil
	}
	return w.prepare(ctx, s)
}

// Guarded returns the store keys that the workload writes, with their initial values, for the audit
// at the end.
func (w *Workload) Guarded(cfg Config) map[string]int64 {
	if w.guarded == nil {
		return nil
	}
	return w.guarded(cfg)
}

// longPause is the least pause between rounds that Stop cuts short.
const longPause = time.Second

// Run drives one client until its rounds are done, c.Stop is closed or ctx ends. It returns
// impls.ErrCrashed if the client crashed.
func (w *Workload) Run(ctx context.Context, c *Client) error {
	idle := ctx                                                          // of waits between rounds, which c.Stop ends, too
	if c.Stop != nil && (c.Pace != nil || c.config.Pause >= longPause) { // others end soon enough by themselves
		var stop context.CancelFunc
		idle, stop = context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() {
			select {
			case <-c.Stop:
				stop()
			case <-idle.Done():
			}
		})
		defer watch.Wait()
		defer stop()
	}
	for n := 0; c.config.Ops == 0 || n < c.config.Ops; n++ {
		// a late client starts at once; its latencies still count from the intended start
		if c.Pace != nil {
			c.due, c.intended = true, c.Pace(n)
			if err := c.clock.Sleep(idle, time.Duration(c.intended-c.timeline())); err != nil {
				return ended(err)
			}
		}
		select {
		case <-c.Stop:
			return nil
		default:
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := w.round(ctx, c, n); err != nil {
			return ended(err)
		}
		if err := c.clock.Sleep(idle, c.config.Pause); err != nil {
			return ended(err)
		}
	}
	return nil
}

// ended returns err, or nil if err is the end of the context.
func ended(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// guarded is a round that updates a stored value under the lock: acquire, read, think, write back,
// release.
type guarded struct {
	key    string
	mode   history.Mode
	think  time.Duration
	update func(read int64) (wrote int64, write bool)
	read   *Stored // what it read before it had the lock; nil: it reads under the lock
	// while, if set, replaces thinking. It reports whether the client believes that it still holds.
	while func(h *handle, ctx context.Context) (holds bool, err error)
}

func (c *Client) guardedRound(ctx context.Context, g guarded) error {
	_, err := c.holding(ctx, g.key, g.mode, func(h *handle) error { return h.section(ctx, g) })
	return err
}

// holding does the work while the client holds the lock of a key, and reports whether it was
// granted.
func (c *Client) holding(ctx context.Context, key string, mode history.Mode, work func(*handle) error) (ok bool, err error) {
	h, err := c.handle(key)
	if err != nil {
		return false, err
	}
	if ok, err = h.acquire(ctx, mode); err != nil || !ok {
		return false, err
	}
	if err := work(h); err != nil {
		return true, err
	}
	return true, h.release(ctx)
}

// section is the critical section of a guarded round. A client that learns that its hold is lost
// leaves without writing.
func (h *handle) section(ctx context.Context, g guarded) error {
	c := h.client
	return h.using(g.mode, func() error {
		if g.read == nil {
			read, err := c.store.Read(ctx, g.key, h.fence())
			if err != nil {
				return survivable(err)
			}
			g.read = &read
		}
		if err := c.at(ctx, history.Entered, g.key); err != nil {
			return err
		}
		if g.while == nil {
			g.while = func(h *handle, ctx context.Context) (bool, error) { return true, c.clock.Sleep(ctx, g.think) }
		}
		holds, err := g.while(h, ctx)
		if err != nil || !holds {
			return survivable(err)
		}
		wrote, write := g.update(g.read.Value)
		if !write || h.lost() {
			return nil
		}
		return h.write(ctx, *g.read, wrote)
	})
}

// using records the time inside the critical section, up to its end or the client's crash.
func (h *handle) using(mode history.Mode, work func() error) error {
	c := h.client
	use := history.Operation{Op: history.Use, Key: h.key, Mode: mode, Token: h.grants[len(h.grants)-1].Token, Call: c.timeline()}
	c.record.Begin(use)
	err := work()
	use.Return = c.timeline()
	c.record.Add(use)
	return err
}

func (h *handle) write(ctx context.Context, read Stored, wrote int64) (err error) {
	c := h.client
	op := history.Operation{Op: history.Write, Key: h.key, HasValue: true, Read: read.Value, Wrote: wrote,
		Versioned: true, ReadVersion: read.Version, Fence: h.fence(), Call: c.timeline()}
	c.record.Begin(op)
	op.Version, err = c.store.Write(ctx, h.key, wrote, op.Fence)
	op.Return = c.timeline()
	h.finish(&op, err)
	return survivable(err)
}

// survivable returns err if it is a crash, and nil for an error after which an application would go
// on.
func survivable(err error) error {
	if errors.Is(err, impls.ErrCrashed) {
		return err
	}
	return nil
}
