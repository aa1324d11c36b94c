package servers

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// formCluster assigns the slots, introduces the nodes and waits until all serve, for two seconds:
// Redis lets no master serve sooner after its start.
func (f *fleet) formCluster(ctx context.Context) error {
	for i, n := range f.nodes {
		if err := n.announce(ctx); err != nil {
			return err
		}
		// Distinct epochs, so that the nodes need not resolve equal ones.
		if _, err := n.do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
		if i >= impls.ClusterMasters {
			continue // a replica
		}
		first, last := i*resp.Slots/impls.ClusterMasters, (i+1)*resp.Slots/impls.ClusterMasters-1
		if _, err := n.do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last); err != nil {
			return fmt.Errorf("%w (three masters need Redis 7.0 or later)", err)
		}
	}
	for _, n := range f.nodes[1:] {
		host, port := n.peer()
		if _, err := f.nodes[0].do(ctx, "CLUSTER", "MEET", host, port); err != nil {
			return err
		}
	}
	for _, n := range f.nodes {
		if err := n.waitServing(ctx); err != nil {
			return err
		}
	}
	for i := range impls.ClusterMasters {
		if err := f.followAll(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// announce configures the address that a node announces to clients, if it differs from the one that
// the other nodes use. Redis announces the address to nodes and the host name to clients; an IP
// address is accepted as a host name.
func (n *node) announce(ctx context.Context) error {
	host, port, err := net.SplitHostPort(n.addr())
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	peerHost, peerPort := n.peer()
	if host == peerHost && port == fmt.Sprint(peerPort) {
		return nil
	}
	_, err = n.do(ctx, "CONFIG", "SET",
		"cluster-announce-hostname", host, "cluster-preferred-endpoint-type", "hostname",
		"cluster-announce-port", port, "cluster-announce-bus-port", peerPort+busDistance)
	if err != nil {
		return fmt.Errorf("%w (a cluster of containers needs Redis 7.0 or later)", err)
	}
	return nil
}

// waitServing waits until the node serves its slots and knows the masters of all others.
func (n *node) waitServing(ctx context.Context) error {
	return n.poll(ctx, "join the cluster", func() (bool, error) {
		reply, err := do(ctx, n.dial, "CLUSTER", "INFO")
		if err != nil {
			return false, err
		}
		info := fmt.Sprint(reply)
		return strings.Contains(info, "cluster_state:ok\r\n") &&
			strings.Contains(info, fmt.Sprintf("cluster_slots_assigned:%d\r\n", resp.Slots)) &&
			strings.Contains(info, fmt.Sprintf("cluster_size:%d\r\n", impls.ClusterMasters)), nil
	})
}

// rejoinCluster waits until a restarted node serves again and every other running node is connected
// to it.
func (f *fleet) rejoinCluster(ctx context.Context, i int) error {
	n := f.nodes[i]
	if err := n.announce(ctx); err != nil {
		return err
	}
	if err := n.waitServing(ctx); err != nil {
		return err
	}
	id, err := n.do(ctx, "CLUSTER", "MYID")
	if err != nil {
		return err
	}
	for _, other := range f.nodes {
		if other == n || !other.isRunning() {
			continue
		}
		err := other.poll(ctx, "rejoin a restarted node", func() (bool, error) {
			reply, err := do(ctx, other.dial, "CLUSTER", "NODES")
			for line := range strings.Lines(fmt.Sprint(reply)) {
				// id address flags primary ping pong epoch link-state slots...
				if fields := strings.Fields(line); len(fields) >= 8 && fields[0] == id {
					return !strings.Contains(fields[2], "fail") && fields[7] == "connected", err
				}
			}
			return false, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
