package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// bare workloads acquire and release one key with nothing stored.
type bare struct{ name, about string }

var (
	hot     = bare{"hot", "acquire and release one key, with nothing stored: the lock's own cost"}
	handoff = bare{"handoff", "all wait for one key all the time: how long the lock takes from one client to the next"}
)

func (b bare) Name() string                               { return b.name }
func (b bare) About() string                              { return b.about }
func (bare) Prepare(context.Context, Store, Config) error { return nil }
func (bare) Guarded(Config) map[string]int64              { return nil }

func (bare) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error { return c.bareRound(ctx, n) })
}

// bareRound holds the lock for the think time without a look at the store.
func (c *Client) bareRound(ctx context.Context, n int) error {
	h, err := c.handle(counterKey)
	if err != nil {
		return err
	}
	ok, err := h.acquire(ctx, history.Exclusive)
	if err != nil || !ok {
		return err
	}
	if err := h.hold(ctx, n); err != nil {
		return err
	}
	return h.release(ctx)
}

// hold spends the think time inside the critical section.
func (h *handle) hold(ctx context.Context, n int) error {
	return h.using(history.Exclusive, func() error {
		c := h.client
		if err := c.At(ctx, history.Entered, h.key); err != nil {
			return err
		}
		return survivable(c.Clock.Sleep(ctx, c.think(n)))
	})
}
