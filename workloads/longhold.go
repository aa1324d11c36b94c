package workloads

import (
	"context"
	"errors"

	"github.com/lockbench/lockbench/impls"
)

// longHold: work that takes two leases, by a client that extends its lease by hand every third of it and stops working when it is
// refused. A lock that cannot extend is held for the think time only.
type longHold struct{ oneNumber }

// extendsPerLease is how often the holder extends in a lease; holdLeases how many leases the work takes.
const (
	extendsPerLease = 3
	holdLeases      = 2
)

func (longHold) Name() string { return "long-hold" }
func (longHold) About() string {
	return "work of two leases under a lease that is extended by hand every third of it"
}

func (longHold) Run(ctx context.Context, c *Client) error {
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		return c.guardedRound(ctx, guarded{key: counterKey, think: c.think(), while: (*handle).keepExtending,
			update: increment})
	})
}

// keepExtending works on, extending in time. It reports whether the client still holds as far as it knows.
func (h *handle) keepExtending(ctx context.Context) (bool, error) {
	c := h.client
	pause := c.Config.Lease / extendsPerLease
	for range holdLeases * extendsPerLease {
		if err := c.Clock.Sleep(ctx, pause); err != nil {
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
