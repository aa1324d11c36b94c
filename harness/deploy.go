package harness

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

// field is the servers of a run: those of the lock, and the one that keeps the guarded store.
type field struct {
	lock  servers.Deployment
	store servers.Deployment // the same as lock, unless servers are to fail or there are several
}

// deploy brings the servers up. When the lock's servers are to be harmed, the guarded store lives on a server of its own: a store
// that loses its data would show damage that no lock can prevent.
func (e Experiment) deploy(ctx context.Context) (*field, error) {
	spec := servers.Spec{
		Topology: e.topology(), Nodes: e.Scenario.Nodes, Persistence: e.Scenario.Persistence,
		Prefix: e.Prefix, Derives: e.Variant.Derives, MaxMemory: e.Scenario.MaxMemory, ClockFaults: e.has(func(k faults.Kind) bool { return k.Clock }), Name: "lock",
	}
	if spec.Topology != impls.Independent {
		spec.Nodes = 0
	}
	lock, err := e.Provider.Start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("start %s on %s: %w", spec.Topology, e.Provider.Name(), err)
	}
	f := &field{lock: lock, store: lock}
	if spec.Topology == impls.Standalone && !e.harmsServers() || e.Provider.Name() == "url" {
		return f, nil
	}
	f.store, err = e.Provider.Start(ctx, servers.Spec{Topology: impls.Standalone, Name: "store"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guarded store on %s: %w", e.Provider.Name(), err), lock.Close())
	}
	return f, nil
}

func (e Experiment) topology() impls.Topology {
	if e.Scenario.Topology != "" {
		return e.Scenario.Topology
	}
	return e.Variant.Topology
}

func (e Experiment) harmsServers() bool {
	return e.Scenario.MaxMemory > 0 || e.has(func(k faults.Kind) bool { return k.Harms })
}

func (f *field) close() error {
	if f.store == f.lock {
		return f.lock.Close()
	}
	return errors.Join(f.lock.Close(), f.store.Close())
}

// describe describes the lock's nodes for the run record.
func (f *field) describe(ctx context.Context) ([]results.Node, error) {
	infos, err := f.lock.Info(ctx)
	nodes := make([]results.Node, len(infos))
	for i := range infos {
		nodes[i] = results.Node(infos[i])
	}
	return nodes, err
}

// Clients are given addresses that mean a node and never change, whatever port it is on at the moment: 127.0.0.1 with the
// port 1 + node, and 999 for the store. Only dial knows where they lead. A cluster announces its own addresses; those, and
// any other, are dialled as they are.
const (
	firstPort = 1
	storePort = 999
)

func nodeAddr(node int) string { return fmt.Sprintf("127.0.0.1:%d", firstPort+node) }

var storeAddr = fmt.Sprintf("127.0.0.1:%d", storePort)

// addrs are the addresses by which clients call the lock's nodes.
func (f *field) addrs() []string {
	if f.lock.Topology() == impls.Cluster {
		out := make([]string, f.lock.Len())
		for i := range out {
			out[i] = f.lock.Addr(i)
		}
		return out
	}
	n := f.lock.Len()
	if f.lock.Topology() == impls.Replicated {
		n = 1 // the primary of the moment
	}
	out := make([]string, n)
	for i := range out {
		out[i] = nodeAddr(i)
	}
	return out
}

// dial opens a connection to what an address means.
func (f *field) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	switch node := f.node(addr); {
	case addr == storeAddr:
		return f.store.Dial(ctx, 0)
	case node >= 0 && addr == nodeAddr(node):
		return f.lock.Dial(ctx, node)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// node is the number of the lock's node behind an address, -1 for the store.
func (f *field) node(addr string) int {
	for i := range f.lock.Len() {
		if addr == nodeAddr(i) || addr == f.lock.Addr(i) {
			return i
		}
	}
	return -1
}

// present is where an address leads now, for clients in other processes.
func (f *field) present(addr string) (string, error) {
	now, node := addr, f.node(addr)
	switch {
	case addr == storeAddr:
		now = f.store.Addr(0)
	case node >= 0:
		now = f.lock.Addr(node)
	}
	if now == "" {
		return "", fmt.Errorf("node %d is down", node+1)
	}
	return now, nil
}
