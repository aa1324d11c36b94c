package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

var (
	hot = &Workload{
		name:  "hot",
		about: "acquire and release, with nothing stored: the lock's own cost",
		round: func(ctx context.Context, c *Client, _ int) error { return c.bareRound(ctx, nil) },
	}
	handoff = &Workload{
		name:  "handoff",
		about: "as hot, but a client that released acquires again only after another was granted: the time of a hand-over",
		round: func(ctx context.Context, c *Client, _ int) error { return c.bareRound(ctx, c.Relay) },
	}
)

// bareRound holds the lock for the think time, without using the store.
func (c *Client) bareRound(ctx context.Context, relay *Relay) error {
	key := counterKey
	if c.config.Keys > 1 {
		key = spreadKey(c.rand.IntN(c.config.Keys))
	}
	ok, err := c.holding(ctx, key, history.Exclusive, func(h *handle) error {
		relay.granted()
		return h.using(history.Exclusive, func() error {
			if err := c.at(ctx, history.Entered, key); err != nil {
				return err
			}
			return survivable(c.clock.Sleep(ctx, c.think()))
		})
	})
	if ok && err == nil {
		relay.wait(ctx, c.Stop)
	}
	return err
}
