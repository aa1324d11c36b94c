package workloads

import (
	"context"
	"fmt"
)

// lottery is the example of article 003: every instance is told to run the same draw; one must do it, once, and pick
// exactly ten winners. Each round is a new draw with a key of its own.
type lottery struct{}

const winners = 10

func (lottery) Name() string { return "lottery" }
func (lottery) About() string {
	return "every instance starts the same draw; it must run once and pick exactly ten winners"
}
func (lottery) Prepare(context.Context, Store, Config) error { return nil }

func (lottery) Guarded(cfg Config) map[string]int64 {
	keys := map[string]int64{}
	for n := range max(cfg.Ops, 1) {
		keys[drawKey(n)] = 0
	}
	return keys
}

func (lottery) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		return c.guardedRound(ctx, guarded{key: drawKey(n), think: c.think(),
			update: func(drawn int64) (int64, bool) { return drawn + winners, drawn == 0 }})
	})
}

func drawKey(n int) string { return fmt.Sprintf("draw-%d", n) }
