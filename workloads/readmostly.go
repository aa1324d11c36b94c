package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// readMostly: one client in four rounds writes under an exclusive hold, the other rounds read under a shared one. A lock without a
// shared mode holds exclusively for both.
type readMostly struct{ oneNumber }

// writeEvery is the share of rounds that write: one in so many, at a different round for each client.
const writeEvery = 4

func (readMostly) Name() string { return "read-mostly" }
func (readMostly) About() string {
	return "three rounds in four read under a shared hold, one writes under an exclusive one"
}

func (readMostly) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error { return c.guardedRound(ctx, c.readOrWrite(n)) })
}

// readOrWrite is what the client's n-th round does: most read.
func (c *Client) readOrWrite(n int) guarded {
	if (n+c.Index)%writeEvery == 0 {
		return guarded{key: counterKey, think: c.think(), update: increment}
	}
	return guarded{key: counterKey, mode: history.Shared, think: c.think(), update: func(read int64) (int64, bool) { return read, false }}
}
