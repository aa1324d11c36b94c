package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// nested: update the store in the inner section, and again after the inner release, where a lock
// that lost the outer hold loses the update.
var nested = &Workload{
	name:    "nested",
	about:   "acquire again while holding; the outer hold must outlive the inner release",
	guarded: oneCounter,
	round: func(ctx context.Context, c *Client, _ int) error {
		counted := guarded{key: counterKey, think: c.think() / 2, update: increment}
		_, err := c.holding(ctx, counterKey, history.Exclusive, func(h *handle) error {
			if err := c.guardedRound(ctx, counted); err != nil {
				return err
			}
			return h.section(ctx, counted)
		})
		return err
	},
}
