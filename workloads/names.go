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
		var err error
		for k := 0; k < max(c.config.Keys, 1) && err == nil; k++ {
			var h *handle
			if h, err = c.handle(spreadKey(k)); err != nil {
				break
			}
			var granted bool
			if granted, err = h.acquire(ctx, history.Exclusive); err != nil || !granted {
				break
			}
			held = append(held, h)
			err = h.section(ctx, guarded{key: spreadKey(k), think: c.think(), update: increment})
		}
		for _, h := range held { // the first first, while others ask for it
			if err == nil {
				err = h.release(ctx)
			}
		}
		return err
	},
}
