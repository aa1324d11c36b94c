package harness

import (
	"context"
	"net"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/workloads"
)

// injections are the faults of the network and of servers of one run.
type injections struct{}

// arm makes ready what the plan does to the network and to servers, and records what is in force from the start.
func (d *drive) arm(ctx context.Context) (*injections, error) {
	for i := range d.Scenario.Clients {
		if skew := d.skew(i); skew != 0 {
			d.standingWindow(faults.SkewClient, i, "clock off by "+skew.String())
		}
		if owner := d.owner(); owner != "" {
			d.standingWindow(faults.CollideOwners, i, "owner id "+owner)
		}
	}
	return &injections{}, nil
}

// standingWindow records a fault that is in force for the whole run.
func (d *drive) standingWindow(fault string, client int, note string) {
	d.windows.Add(history.Window{Fault: fault, Client: workloads.ClientName(client), Node: -1, Confirmed: true, Note: note})
}

func (i *injections) heal() error { return nil }

// dialer is how one client reaches the servers.
func (d *drive) dialer(index int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.field.dial
}
