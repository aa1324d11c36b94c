package workloads

import "context"

// counter: read a number, think, write it back plus one. Without mutual exclusion increments are lost.
type counter struct{}

const counterKey = "job"

func (counter) Name() string { return "counter" }
func (counter) About() string {
	return "read a number, think, write it back plus one; two at a time lose an increment"
}
func (counter) Prepare(context.Context, Store, Config) error { return nil }
func (counter) Guarded(Config) map[string]int64              { return map[string]int64{counterKey: 0} }

func (counter) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		return c.guardedRound(ctx, guarded{key: counterKey, think: c.think(n),
			update: func(read int64) (int64, bool) { return read + 1, true }})
	})
}
