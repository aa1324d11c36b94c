package servers

import (
	"context"
	"fmt"
	"net"
	"strings"
)

const clusterSlots = 16384

// formCluster shares the slots out, introduces the nodes to each other and waits until each of them can serve. Redis lets a
// master that was just started serve no sooner than two seconds after its start, so forming takes that long.
func (f *fleet) formCluster(ctx context.Context) error {
	for i := range f.nodes {
		if err := f.giveSlots(ctx, i); err != nil {
			return err
		}
	}
	for _, n := range f.nodes[1:] {
		host, port := n.peer()
		if _, err := do(ctx, f.nodes[0].dial, "CLUSTER", "MEET", host, port); err != nil {
			return fmt.Errorf("%s: %w", f.nodes[0].name, err)
		}
	}
	for _, n := range f.nodes {
		if err := n.waitServing(ctx, len(f.nodes)); err != nil {
			return err
		}
	}
	return nil
}

// giveSlots returns node i its third of the slots and an epoch of its own, without which equal epochs must first be fought out.
func (f *fleet) giveSlots(ctx context.Context, i int) error {
	n, total := f.nodes[i], len(f.nodes)
	if err := n.announce(ctx); err != nil {
		return err
	}
	if _, err := do(ctx, n.dial, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	first, last := i*clusterSlots/total, (i+1)*clusterSlots/total-1
	if _, err := do(ctx, n.dial, "CLUSTER", "ADDSLOTSRANGE", first, last); err != nil {
		return fmt.Errorf("%s: %w (three masters need Redis 7.0 or later)", n.name, err)
	}
	return nil
}

// announce tells a node the address at which clients reach it, where that differs from the one at which the other nodes do.
// Redis returns other nodes the address and clients the host name; an address of ours passes for a host name.
func (n *node) announce(ctx context.Context) error {
	host, port, err := net.SplitHostPort(n.addr())
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	peerHost, peerPort := n.peer()
	if host == peerHost && port == fmt.Sprint(peerPort) {
		return nil
	}
	_, err = do(ctx, n.dial, "CONFIG", "SET",
		"cluster-announce-hostname", host, "cluster-preferred-endpoint-type", "hostname",
		"cluster-announce-port", port, "cluster-announce-bus-port", peerPort+busDistance)
	if err != nil {
		return fmt.Errorf("%s: %w (a cluster of containers needs Redis 7.0 or later)", n.name, err)
	}
	return nil
}

// waitServing waits until the node serves its slots and knows who serves all the others.
func (n *node) waitServing(ctx context.Context, masters int) error {
	err := poll(ctx, "join the cluster", func() (bool, error) {
		reply, err := do(ctx, n.dial, "CLUSTER", "INFO")
		if err != nil {
			return false, err
		}
		info := fmt.Sprint(reply)
		return strings.Contains(info, "cluster_state:ok\r\n") &&
			strings.Contains(info, fmt.Sprintf("cluster_slots_assigned:%d\r\n", clusterSlots)) &&
			strings.Contains(info, fmt.Sprintf("cluster_size:%d\r\n", masters)), nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

// rejoinCluster waits until a restarted node serves again and every other node that runs counts it in.
func (f *fleet) rejoinCluster(ctx context.Context, i int) error {
	n := f.nodes[i]
	if err := n.announce(ctx); err != nil {
		return err
	}
	if err := n.waitServing(ctx, len(f.nodes)); err != nil {
		return err
	}
	id, err := do(ctx, n.dial, "CLUSTER", "MYID")
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	for _, other := range f.nodes {
		if other == n || !other.isRunning() {
			continue
		}
		if err := other.waitCounting(ctx, fmt.Sprint(id)); err != nil {
			return err
		}
	}
	return nil
}

// waitCounting waits until this node is connected to the one with the id and does not hold it for failed.
func (n *node) waitCounting(ctx context.Context, id string) error {
	err := poll(ctx, "count a restarted node in", func() (bool, error) {
		reply, err := do(ctx, n.dial, "CLUSTER", "NODES")
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(fmt.Sprint(reply)) {
			// id address flags primary ping pong epoch link-state slots...
			if fields := strings.Fields(line); len(fields) >= 8 && fields[0] == id {
				return !strings.Contains(fields[2], "fail") && fields[7] == "connected", nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}
