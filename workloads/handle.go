package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// handle returns the client's handle on a key. It opens it on first use.
func (c *Client) handle(key string) (*handle, error) {
	if h, ok := c.handles[key]; ok {
		return h, nil
	}
	h := &handle{client: c, key: key}
	lock, err := c.open(key, h.renewed)
	if err != nil {
		return nil, fmt.Errorf("open lock %s: %w", key, err)
	}
	h.lock = lock
	c.handles[key] = h
	return h, nil
}

// acquire acquires the lock, waits as configured, and reports whether it was granted. Only an error
// that ends the client is returned.
func (h *handle) acquire(ctx context.Context, mode history.Mode) (ok bool, err error) {
	c := h.client
	if err := c.at(ctx, history.Calling, h.key); err != nil {
		return false, err
	}
	op := history.Operation{Op: history.Acquire, Key: h.key, Mode: mode, Call: c.timeline()}
	c.record.Begin(op)
	g, err := h.ask(ctx, mode)
	op.Return = c.timeline()
	if err != nil {
		h.finish(&op, err)
		if errors.Is(err, impls.ErrCrashed) || errors.Is(err, impls.ErrUnsupported) { // the client ends
			return false, err
		}
		return false, c.at(ctx, history.Refused, h.key)
	}
	op.Token, op.Fence = g.Token, g.Fence
	c.addTimes(&op, g)
	h.finish(&op, nil)
	h.mu.Lock()
	h.grants = append(h.grants, held{g, mode})
	h.mu.Unlock()
	h.watchLoss(g)
	return true, c.at(ctx, history.Granted, h.key)
}

func (h *handle) ask(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	wait := h.client.config.AcquireWait
	if h.client.Scope != nil {
		scoped, cancel := h.client.Scope(ctx)
		defer cancel()
		ctx = scoped
	}
	if wait == 0 {
		return h.lock.Try(ctx, mode)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return h.lock.Acquire(waiting, mode)
}

func (h *handle) release(ctx context.Context) error {
	c := h.client
	if err := c.at(ctx, history.BeforeRelease, h.key); err != nil {
		return err
	}
	h.mu.Lock()
	last := len(h.grants) - 1
	g := h.grants[last]
	h.grants = h.grants[:last]
	h.mu.Unlock()
	if len(h.grants) == 0 {
		h.unwatch()
	}
	op := history.Operation{Op: history.Release, Key: h.key, Mode: g.mode, Token: g.Token, Fence: g.Fence, Call: c.timeline()}
	c.record.Begin(op)
	err := h.lock.Release(ctx)
	op.Return = c.timeline()
	h.finish(&op, err)
	if errors.Is(err, impls.ErrCrashed) {
		return err
	}
	return c.at(ctx, history.Released, h.key)
}

func (h *handle) extend(ctx context.Context) error {
	c := h.client
	op := history.Operation{Op: history.Extend, Key: h.key, Token: h.grants[len(h.grants)-1].Token, Call: c.timeline()}
	c.record.Begin(op)
	g, err := h.lock.Extend(ctx)
	op.Return = c.timeline()
	if err == nil {
		op.ValidUntil = c.instant(g.ValidUntil)
	}
	h.finish(&op, err)
	return err
}

// renewed records an extend that the lock did by itself.
func (h *handle) renewed(r impls.Renewal) {
	now := h.client.timeline()
	op := history.Operation{Op: history.Extend, Key: h.key, Token: r.Token, Call: max(now-int64(r.Return.Sub(r.Call)), 0), Return: now}
	if r.Err == nil {
		op.ValidUntil = h.client.instant(r.ValidUntil)
	}
	h.finish(&op, r.Err)
}

// finish records an operation that has returned err.
func (h *handle) finish(op *history.Operation, err error) {
	op.Outcome = outcomeOf(op.Op, err)
	if err != nil {
		op.Err = err.Error()
	}
	h.client.record.Add(*op)
	c, intended := h.client, op.Call
	if op.Op == history.Acquire && c.due { // the first of a round; renewals come from other goroutines
		c.due, intended = false, c.intended
	}
	if c.Observe != nil {
		c.Observe(op.Op, op.Outcome, intended, op.Call, op.Return)
	}
}

// lost reports whether the lock has notified the client of a lost hold.
func (h *handle) lost() bool {
	if len(h.grants) == 0 || h.grants[0].Lost == nil {
		return false
	}
	select {
	case <-h.grants[0].Lost:
		return true
	default:
		return false
	}
}

// fence returns the fence of the innermost hold; 0 if the store does not compare fences.
func (h *handle) fence() uint64 {
	if !h.client.fenced || len(h.grants) == 0 {
		return 0
	}
	return h.grants[len(h.grants)-1].Fence
}

// watchLoss records a notice for each token that it ends: the entries of a nest share a channel, or
// have one each.
func (h *handle) watchLoss(g impls.Grant) {
	if g.Lost == nil || slices.ContainsFunc(h.watches, func(w *lossWatch) bool { return w.of == g.Lost }) {
		return
	}
	w := &lossWatch{of: g.Lost, stop: make(chan struct{})}
	h.watches = append(h.watches, w)
	w.done.Go(func() {
		select {
		case <-w.stop:
			return
		case <-w.of:
		}
		now := h.client.timeline()
		h.mu.Lock()
		defer h.mu.Unlock()
		recorded := map[string]bool{}
		for _, g := range h.grants {
			if g.Lost == w.of && !recorded[g.Token] {
				recorded[g.Token] = true
				h.client.record.Add(history.Operation{Op: history.Lost, Key: h.key, Token: g.Token, Call: now, Return: now})
			}
		}
	})
}

func (h *handle) unwatch() {
	for _, w := range h.watches {
		close(w.stop)
		w.done.Wait()
	}
	h.watches = nil
}

// untilLost is the valid-until of a lock that notifies of a loss instead of giving a time.
const untilLost = math.MaxInt64

// addTimes adds a grant's times to the operation that has just returned it: when the granted
// attempt began, and valid-until, which is the lock's or else one lease after that beginning.
// Without either, call + lease of the history applies, or the lock has no lease.
func (c *Client) addTimes(op *history.Operation, g impls.Grant) {
	if g.Asked.IsZero() && g.ValidUntil.IsZero() {
		return
	}
	now := c.clock.Now()
	asked := instant(g.Asked, op.Return, now)
	op.ValidUntil = instant(g.ValidUntil, op.Return, now)
	if g.ValidUntil.IsZero() && c.leased {
		op.ValidUntil = asked + int64(c.config.Lease)
	}
	if !g.Asked.IsZero() {
		op.SetAsked(min(max(asked, op.Call), op.Return)) // the client's clock may drift between two readings
	}
}

// instant converts a time of the client's clock to the run's timeline.
func (c *Client) instant(t time.Time) int64 { return instant(t, c.timeline(), c.clock.Now()) }

// instant converts a time of the client's clock, which is at now, to the timeline, which is at at;
// 0 for the zero time. A record has no time before the run began, and none beyond untilLost.
func instant(t time.Time, at int64, now time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Equal(impls.UntilLost):
		return untilLost
	}
	d := int64(t.Sub(now))
	switch {
	case d > untilLost-at:
		return untilLost
	case at+d < 0:
		return 1
	}
	return at + d
}

// outcomeOf returns the outcome of an operation of a kind that returned err.
func outcomeOf(op history.Op, err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, errStale):
		return history.Rejected
	case op == history.Extend && errors.Is(err, impls.ErrLost):
		return history.LostHold
	case errors.Is(err, impls.ErrUnknownOutcome), errors.Is(err, impls.ErrCrashed):
		return history.Unknown
	case op == history.Acquire && errors.Is(err, impls.ErrBusy):
		return history.Busy
	case op != history.Acquire && (errors.Is(err, impls.ErrNotHeld) || errors.Is(err, impls.ErrLost)):
		return history.NotHeld
	}
	return history.Fail
}
