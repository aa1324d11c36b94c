package workloads

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// longReads: as readMostly, but whoever reads takes two leases over it and extends by hand. A reader that died must not live on by the
// extends of those that did not.
type longReads struct{ oneNumber }

func (longReads) Name() string { return "long-reads" }
func (longReads) About() string {
	return "three rounds in four read for two leases under a shared hold that is extended by hand, one writes"
}

func (longReads) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		g := c.readOrWrite(n)
		if g.mode == history.Shared {
			g.while = (*handle).keepExtending
		}
		return c.guardedRound(ctx, g)
	})
}
