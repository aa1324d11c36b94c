package harness

import (
	"context"
	"errors"
	"net"

	"github.com/lockbench/lockbench/faults/inject"
)

// network is the proxy between every client and every server of a run, the guarded store's included.
type network struct {
	proxy *inject.Proxy
	links []map[int]*inject.Link // by client, by node; storeNode is the store
}

// storeNode is the number that stands for the guarded store's server among the lock's nodes.
const storeNode = -1

// openNetwork makes a link for every client and server.
func (d *drive) openNetwork(traffic inject.Traffic) (*network, error) {
	n := &network{proxy: inject.NewProxy(inject.ProxyConfig{Names: d.names, Traffic: traffic, Host: d.Subject.Listen})}
	for client := range d.Scenario.Clients {
		links := map[int]*inject.Link{}
		for node := storeNode; node < d.field.lock.Len(); node++ {
			link, err := n.proxy.Open(inject.LinkConfig{
				Client: client + 1, Node: node,
				Dial: func(ctx context.Context) (net.Conn, error) { return d.reachNode(ctx, client, node) },
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

// reachNode opens a connection of a client to a server. What a child sends is seen here.
func (d *drive) reachNode(ctx context.Context, client, node int) (net.Conn, error) {
	if node != storeNode && client < len(d.children) {
		return d.children[client].wire.Load().Open(ctx, "tcp", nodeAddr(node))
	}
	return d.field.reach(ctx, node)
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
func (d *drive) link(index int, addr string) *inject.Link {
	if d.network == nil {
		return nil
	}
	node := d.field.node(addr)
	if node == storeNode && addr != storeAddr {
		return nil // an address that a cluster's node has no more
	}
	return d.network.links[index][node]
}
