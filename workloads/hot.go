package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

var (
	hot = workload{
		name:  "hot",
		about: "acquire and release, with nothing stored: the lock's own cost",
		round: func(ctx context.Context, c *Client, _ int) error { return c.bareRound(ctx, nil) },
	}
	handoff = workload{
		name:  "handoff",
		about: "as hot, but a client that released acquires again only after another was granted: the time of a hand-over",
		round: func(ctx context.Context, c *Client, _ int) error { return c.bareRound(ctx, c.Relay) },
	}
)

// bareRound holds the lock for the think time, without using the store.
func (c *Client) bareRound(ctx context.Context, relay *Relay) error {
	ok, err := c.holding(ctx, c.anyKey(), history.Exclusive, func(h *handle) error {
		relay.granted()
		return h.hold(ctx)
	})
	if ok && err == nil {
		relay.wait(ctx, c.Stop)
	}
	return err
}

// anyKey returns one of the run's keys, uniformly.
func (c *Client) anyKey() string {
	if c.config.Keys < 2 {
		return counterKey
	}
	return spreadKey(c.rand.IntN(c.config.Keys))
}

// hold spends the think time inside the critical section.
func (h *handle) hold(ctx context.Context) error {
	return h.using(history.Exclusive, func() error {
		c := h.client
		if err := c.at(ctx, history.Entered, h.key); err != nil {
			return err
		}
		return survivable(c.clock.Sleep(ctx, c.think()))
	})
}
