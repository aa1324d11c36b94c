package workloads

import "context"

// counter: read a number, think, write it back plus one. Without mutual exclusion increments are lost.
type counter struct{ oneNumber }

// oneNumber is a workload whose guarded store is a single number that starts at 0 and needs no preparing.
type oneNumber struct{}

const counterKey = "job"

func (oneNumber) Prepare(context.Context, Store, Config) error { return nil }
func (oneNumber) Guarded(Config) map[string]int64              { return map[string]int64{counterKey: 0} }

// increment is the update that counts.
func increment(read int64) (int64, bool) { return read + 1, true }

func (counter) Name() string { return "counter" }
func (counter) About() string {
	return "read a number, think, write it back plus one; two at a time lose an increment"
}

func (counter) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		return c.guardedRound(ctx, guarded{key: counterKey, think: c.think(),
			update: increment})
	})
}
