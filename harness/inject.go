package harness

import (
	"context"
	"net"

	"github.com/lockbench/lockbench/faults"
)

// injections are the faults of the network and of servers of one run.
type injections struct{}

// dialer is how one client reaches the servers.
func (d *drive) dialer(index int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.field.dial
}

var _ = faults.KillServer
