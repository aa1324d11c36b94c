package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// deployment holds the servers of a run: the lock's, and the guarded store's.
type deployment struct {
	lock      servers.Deployment
	announced []string           // the addresses that a cluster or sentinels tell clients, by machine; else none
	store     servers.Deployment // the same as lock, unless faults hit the servers or there are several
}

// startServers starts the servers. If faults hit the lock's, the guarded store has its own: losing
// its data is damage that no lock can prevent.
func (e Experiment) startServers(ctx context.Context) (*deployment, error) {
	spec := servers.Spec{
		Topology: e.topology(), Nodes: e.Scenario.Nodes, Persistence: e.Scenario.Persistence,
		Prefix: e.Prefix, Derives: e.Variant.Derives, MaxMemory: e.Scenario.MaxMemory, ClockFaults: e.has(func(k faults.Kind) bool { return k.Clock }), Name: "lock",
		Log: !e.Bare, MinReplicas: e.Scenario.MinReplicas, DownAfter: e.Scenario.DownAfter.Of(e.lease()),
	}
	if spec.Topology == impls.Standalone || spec.Topology == impls.Sentinel {
		spec.Nodes = 0
	}
	lock, err := e.Provider.Start(ctx, spec)
	if err != nil {
		if e.Provider.Guest() {
			return nil, fmt.Errorf("connect to the given Redis: %w", err)
		}
		return nil, fmt.Errorf("start the lock's servers (%s) on %s: %w", spec.Topology, e.Provider.Name(), err)
	}
	s := &deployment{lock: lock, store: lock}
	for i := range lock.Len() {
		if watched := lock.Sentinels(); watched != nil {
			s.announced = append(s.announced, watched.Known(i))
		} else if spec.Topology == impls.Cluster {
			s.announced = append(s.announced, lock.Addr(i))
		}
	}
	if spec.Topology == impls.Standalone && !e.harmsServers() || e.Provider.Guest() {
		return s, nil
	}
	s.store, err = e.Provider.Start(ctx, servers.Spec{Topology: impls.Standalone, Name: "store"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guarded store's server on %s: %w", e.Provider.Name(), err), lock.Close())
	}
	return s, nil
}

func (e Experiment) topology() impls.Topology {
	return cmp.Or(e.Scenario.Topology, e.Variant.Topology)
}

func (e Experiment) harmsServers() bool {
	return e.Scenario.MaxMemory > 0 || e.has(func(k faults.Kind) bool { return k.Harms })
}

func (s *deployment) close() error {
	if s.store == s.lock {
		return s.lock.Close()
	}
	return errors.Join(s.lock.Close(), s.store.Close())
}

// Clients use fixed addresses that stand for nodes, whatever ports those use at the moment:
// 127.0.0.1 with port 1 + node, and 999 for the store. dial maps them to current addresses. A
// cluster announces its own addresses; those, and any other, are dialled as they are.
const (
	firstPort = 1
	storePort = 999
)

func nodeAddr(node int) string { return fmt.Sprintf("127.0.0.1:%d", firstPort+node) }

var storeAddr = fmt.Sprintf("127.0.0.1:%d", storePort)

func (s *deployment) addrs() []string {
	address, n := nodeAddr, s.primaries()
	switch s.lock.Topology() {
	case impls.Cluster:
		address = s.lock.Addr
	case impls.Sentinel:
		return s.lock.Sentinels().Addrs()
	}
	out := make([]string, n)
	for i := range out {
		out[i] = address(i)
	}
	return out
}

func (s *deployment) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	switch node := s.node(addr); {
	case addr == storeAddr:
		return s.store.Dial(ctx, 0)
	case node >= 0 && node < s.lock.Len() && addr != s.lock.Addr(node):
		return s.lock.Dial(ctx, node)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// primaries returns how many of the nodes clients know, by number: where a node has replicas, its
// number leads to the current primary.
func (s *deployment) primaries() int { return s.lock.Topology().Primaries(s.lock.Len()) }

// node returns the number of the lock's node for which an address stands; -1 for the store. The
// sentinels have the numbers after the nodes. A client of a cluster may still have the address of a
// master that was replaced.
func (s *deployment) node(addr string) int {
	watched := s.lock.Sentinels()
	for i := range s.primaries() {
		if addr == nodeAddr(i) || addr == s.lock.Addr(i) || watched != nil && addr == watched.Known(i) {
			return i
		}
	}
	if i := slices.Index(s.announced, addr); i >= 0 {
		return i % s.primaries()
	}
	if watched != nil {
		if i := slices.Index(watched.Addrs(), addr); i >= 0 {
			return s.lock.Len() + i
		}
	}
	return -1
}

const storeNode = -1

func (d *serverDriver) openNetwork(traffic inject.Traffic) error {
	d.proxy = inject.NewProxy(inject.ProxyConfig{Names: d.names, Traffic: traffic, Host: d.Subject.Listen})
	for client := range d.Scenario.Clients {
		links := map[int]*inject.Link{}
		for node := storeNode; node < d.servers.links(); node++ {
			balancer := d.servers.isBalancer(node) // it leads to a node
			cfg := inject.LinkConfig{Client: client + 1, Node: node, Aside: node >= d.servers.lock.Len() && !balancer, Balancer: balancer,
				Dial: func(ctx context.Context) (net.Conn, error) { return d.dialFromClient(ctx, client, node) }}
			onCluster := d.topology() == impls.Cluster && node >= 0
			if onCluster { // a machine's link leads to the present primary of its slots
				cfg.Node = node % d.servers.primaries()
			}
			if client < len(d.children) && (onCluster || cfg.Aside) {
				cfg.Rewrite = d.retelling(links)
			}
			link, err := d.proxy.Open(cfg)
			if err != nil {
				return err
			}
			links[node] = link
		}
		d.routes = append(d.routes, links)
	}
	return nil
}

// dialFromClient connects a client to a server, watching the traffic of a child.
func (d *serverDriver) dialFromClient(ctx context.Context, client, node int) (net.Conn, error) {
	switch {
	case node == storeNode:
		return d.servers.store.Dial(ctx, 0)
	case d.servers.isBalancer(node):
		return d.servers.lock.Sentinels().Balance(ctx, client+1, func(ctx context.Context, node int) (net.Conn, error) {
			return d.dialFromClient(ctx, client, node)
		})
	case node >= d.servers.lock.Len(): // a sentinel
		var dialer net.Dialer
		return dialer.DialContext(ctx, "tcp", d.servers.lock.Sentinels().Addrs()[node-d.servers.lock.Len()])
	case client < len(d.children):
		return d.children[client].wire.Load().Open(ctx, "tcp", nodeAddr(node%d.servers.primaries()))
	}
	return d.servers.lock.Dial(ctx, node)
}

func (d *serverDriver) dialer(index int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		node := d.servers.node(addr)
		if d.proxy == nil || node == storeNode && addr != storeAddr { // an address that no node of the cluster has any more
			conn, err = d.servers.dial(ctx, network, addr)
		} else {
			conn, err = d.routes[index][node].Dial(ctx)
		}
		if err != nil || d.servers.lock.Sentinels() == nil || !slices.Contains(d.servers.announced, addr) {
			return conn, err
		}
		told, err := net.ResolveTCPAddr(network, addr)
		return toldOf{conn, told}, err
	}
}

// openStore opens the guarded store for the harness itself, without proxy and faults.
func (d *serverDriver) openStore() (workloads.Store, func() error) {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.servers.dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return resp.Bound(c), nil
	}
	return workloads.OpenStore(workloads.Access{StoreAddr: storeAddr, Dial: dial}, d.prefix)
}

// Limits of what is asked of the servers after the clients are done.
const (
	auditTime  = 5 * time.Second
	auditHurry = 500 * time.Millisecond // after an interrupt
)

// afterwards returns the context of what follows the clients. It does not end with ctx, so that an
// interrupted run is audited too.
func (d *serverDriver) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := auditTime
	if closed(d.asked) {
		limit = auditHurry
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

func (d *serverDriver) audit(ctx context.Context, rec *record) error {
	ctx, cancel := d.afterwards(ctx)
	defer cancel()
	w, _ := workloads.Find(d.Scenario.Workload)
	store, end := d.openStore()
	rec.Store = map[string]checker.StoreEnds{}
	for key, initial := range w.Guarded(d.config()) {
		last, err := store.Read(ctx, key, 0)
		if err != nil {
			rec.notes = append(rec.notes, fmt.Sprintf("the guarded store could not be read at the end: %v", err))
			break
		}
		rec.Store[key] = checker.StoreEnds{Initial: &initial, Final: &last.Value}
	}
	return end()
}
