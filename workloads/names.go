package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// names: a lock that keeps one state for all names of a client confuses them. All clients ask for
// the names in one order, so that none waits for another that waits for it.
var names = &Workload{
	name:    "names",
	about:   "hold all keys at once, count under each, and release each; the release of one must end its hold and no other",
	guarded: func(cfg Config) map[string]int64 { return zeros(spreadFormat, cfg.Keys) },
	round: func(ctx context.Context, c *Client, _ int) error {
		var held []*handle
		err := c.holdNames(ctx, &held)
		for _, h := range held { // the first first, while others ask for it
			if err == nil {
				err = h.release(ctx)
			}
		}
		return err
	},
}

// holdNames acquires the keys in order, as many as it is granted, and counts under each.
func (c *Client) holdNames(ctx context.Context, held *[]*handle) error {
	for k := range max(c.config.Keys, 1) {
		h, err := c.handle(spreadKey(k))
		if err != nil {
			return err
		}
		ok, err := h.acquire(ctx, history.Exclusive)
		if err != nil || !ok {
			return err
		}
		*held = append(*held, h)
		if err := h.section(ctx, guarded{key: spreadKey(k), think: c.think(), update: increment}); err != nil {
			return err
		}
	}
	return nil
}
