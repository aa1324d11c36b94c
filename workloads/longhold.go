package workloads

import (
	"context"
	"errors"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// longHold stops working if an extend is refused. A lock that cannot extend is held for one pause
// between extends.
var longHold = &Workload{
	name:    "long-hold",
	about:   "work of two leases under a lease that is extended by hand every third of it",
	guarded: oneCounter,
	round: func(ctx context.Context, c *Client, n int) error {
		return c.guardedRound(ctx, guarded{key: counterKey, think: c.think(), while: (*handle).keepExtending, update: increment})
	},
}

const (
	extendsPerLease = 3 // how often the holder extends in a lease
	holdLeases      = 2 // how many leases the work takes
)

// keepExtending works and extends in time. It reports whether the client believes that it still
// holds.
func (h *handle) keepExtending(ctx context.Context) (bool, error) {
	c := h.client
	pause := c.config.Lease / extendsPerLease
	for range holdLeases * extendsPerLease {
		if err := c.clock.Sleep(ctx, pause); err != nil {
			return false, err
		}
		err := h.extend(ctx)
		if errors.Is(err, impls.ErrUnsupported) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// longReads: a reader that crashed must not keep its hold because other readers extend theirs.
var longReads = &Workload{
	name:    "long-reads",
	about:   "three rounds in four read for two leases under a shared hold that is extended by hand, one writes",
	guarded: oneCounter,
	round: func(ctx context.Context, c *Client, n int) error {
		g := c.readOrWrite(n)
		if g.mode == history.Shared {
			g.while = (*handle).keepExtending
		}
		return c.guardedRound(ctx, g)
	},
}
