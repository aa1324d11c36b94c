package harness

import (
	"context"
	"errors"
	"net"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/workloads"
)

// network is the proxy between every client and every server of a run, the guarded store's included.
type network struct {
	proxy *faults.Proxy
	links []map[int]*faults.Link // by client, by node; storeNode is the store
}

// storeNode is the number that stands for the guarded store's server among the lock's nodes.
const storeNode = -1

// openNetwork makes a link for every client and server.
func (d *drive) openNetwork(c *faults.Conductor) (*network, error) {
	n := &network{proxy: faults.NewProxy(faults.ProxyConfig{Timeline: d.timeline, Names: d.names, Conductor: c})}
	for client := range d.Scenario.Clients {
		links := map[int]*faults.Link{}
		for node := storeNode; node < d.field.lock.Len(); node++ {
			link, err := n.proxy.Open(faults.LinkConfig{
				Client: workloads.ClientName(client), Node: node,
				Dial:  func(ctx context.Context) (net.Conn, error) { return d.field.reach(ctx, node) },
				Phase: func() faults.Phase { return d.director.Phase(client) },
			})
			if err != nil {
				return nil, errors.Join(err, n.proxy.Close())
			}
			links[node] = link
		}
		n.links = append(n.links, links)
	}
	return n, nil
}

// reach opens a connection to a server: one of the lock's nodes, or the store's.
func (f *field) reach(ctx context.Context, node int) (net.Conn, error) {
	if node == storeNode {
		return f.store.Dial(ctx, 0)
	}
	return f.lock.Dial(ctx, node)
}

// dialer is how one client of this process reaches the servers.
func (d *drive) dialer(index int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if link := d.link(index, addr); link != nil {
			return link.Dial(ctx)
		}
		return d.field.dial(ctx, network, addr)
	}
}

// way makes the way to what an address means ready for a client in another process, and gives the address at which it begins.
func (d *drive) way(ctx context.Context, index int, addr string) (string, error) {
	if link := d.link(index, addr); link != nil {
		return link.Addr(), link.Prepare(ctx)
	}
	return d.field.present(addr)
}

// link is a client's way through the proxy to what an address means; nil where there is none.
func (d *drive) link(index int, addr string) *faults.Link {
	if d.injected.network == nil {
		return nil
	}
	node := d.field.node(addr)
	if node == storeNode && addr != storeAddr {
		return nil // an address that a cluster's node has no more
	}
	return d.injected.network.links[index][node]
}
