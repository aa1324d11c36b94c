package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// nested: update the store in the inner section, and again after the inner release, where a lock that lost the outer hold loses the update.
var nested = workload{
	name:    "nested",
	about:   "acquire again while holding; the outer hold must outlive the inner release",
	guarded: oneCounter,
	round:   func(ctx context.Context, c *Client, _ int) error { return c.nestedRound(ctx) },
}

func (c *Client) nestedRound(ctx context.Context) error {
	h, err := c.handle(counterKey)
	if err != nil {
		return err
	}
	ok, err := h.acquire(ctx, history.Exclusive)
	if err != nil || !ok {
		return err
	}
	counted := guarded{key: counterKey, think: c.think() / 2, update: increment}
	again, err := h.acquire(ctx, history.Exclusive)
	if err != nil {
		return err
	}
	if again {
		if err := h.section(ctx, counted); err != nil {
			return err
		}
		if err := h.release(ctx); err != nil {
			return err
		}
	}
	if err := h.section(ctx, counted); err != nil {
		return err
	}
	return h.release(ctx)
}
