package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// bare workloads acquire and release with nothing stored: one key, or one of several drawn evenly.
type bare struct {
	name, about string
	relay       bool // who released asks again only when another was granted
}

var (
	hot     = bare{"hot", "acquire and release, with nothing stored: the lock's own cost", false}
	handoff = bare{"handoff", "as hot, but who released asks again only when another was granted: how long the lock takes from one client to the next", true}
)

func (b bare) Name() string                               { return b.name }
func (b bare) About() string                              { return b.about }
func (bare) Prepare(context.Context, Store, Config) error { return nil }
func (bare) Guarded(Config) map[string]int64              { return nil }

func (b bare) Run(ctx context.Context, c *Client) error {
	relay := c.Relay
	if !b.relay {
		relay = nil
	}
	return c.rounds(ctx, func(ctx context.Context, n int) error { return c.bareRound(ctx, n, relay) })
}

// bareRound holds the lock for the think time without a look at the store.
func (c *Client) bareRound(ctx context.Context, n int, relay *Relay) error {
	h, err := c.handle(c.anyKey())
	if err != nil {
		return err
	}
	ok, err := h.acquire(ctx, history.Exclusive)
	if err != nil || !ok {
		return err
	}
	relay.granted()
	if err := h.hold(ctx, n); err != nil {
		return err
	}
	if err := h.release(ctx); err != nil {
		return err
	}
	relay.wait(ctx, c.Stop)
	return nil
}

// anyKey draws one of the run's keys, all alike.
func (c *Client) anyKey() string {
	if c.Config.Keys < 2 {
		return counterKey
	}
	return spreadKey(c.Rand.IntN(c.Config.Keys))
}

// hold spends the think time inside the critical section.
func (h *handle) hold(ctx context.Context, n int) error {
	return h.using(history.Exclusive, func() error {
		c := h.client
		if err := c.At(ctx, history.Entered, h.key); err != nil {
			return err
		}
		return survivable(c.Clock.Sleep(ctx, c.think()))
	})
}
