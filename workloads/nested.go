package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// nested: acquire, and acquire again while holding; update the store in the inner section and again in the outer one after the
// inner release. A lock that gives the outer hold away with the inner release loses the second update.
type nested struct{ oneNumber }

func (nested) Name() string { return "nested" }
func (nested) About() string {
	return "acquire again while holding; the outer hold must outlive the inner release"
}

func (nested) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error { return c.nestedRound(ctx, n) })
}

func (c *Client) nestedRound(ctx context.Context, n int) error {
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
