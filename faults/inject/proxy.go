package inject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/internal/resp"
)

// Proxy forwards the bytes between clients and nodes unchanged. Its [Traffic] decides about single
// requests and replies, its conditions about whole links. It understands RESP, so that it can let a
// command run and drop its reply; bytes that are not RESP pass untouched.
//
//	client ── Link (a loopback listener, one per client and node) ── connection  ── node
//
// A Link knows which client dials it, so faults by client work for any client library. Close waits
// for every goroutine of the Proxy.
type Proxy struct {
	cfg  ProxyConfig
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // accept loops and connections

	mu         sync.Mutex // guards the fields below
	links      []*Link
	conditions []*condition
}

// ProxyConfig configures a Proxy; the zero value forwards every message.
type ProxyConfig struct {
	// Traffic, when set, decides about every request and reply.
	Traffic Traffic
	// Host is the address of this machine on which links listen; "" means 127.0.0.1.
	Host string
	// Names maps the digests of scripts to their names, for the labels of messages.
	Names map[string]string
}

// NewProxy makes a proxy without links.
func NewProxy(cfg ProxyConfig) *Proxy {
	ctx, stop := context.WithCancel(context.Background())
	return &Proxy{cfg: cfg, ctx: ctx, stop: stop}
}

// LinkConfig names the two ends of a Link.
type LinkConfig struct {
	Client int // from 1
	// from 0; -1 for the guarded store's own server; the sentinels' follow those of the nodes
	Node int
	Dial func(ctx context.Context) (net.Conn, error) // to the node's current address
	// Aside reports that no fault of messages is placed there: it leads to a sentinel.
	Aside bool
	// Balancer reports that it leads to whatever node is the primary.
	Balancer bool
	// Rewrite, when set, changes replies.
	Rewrite func(reply []byte) []byte
}

// Link is the path between one client and one node.
type Link struct {
	LinkConfig
	proxy    *Proxy
	listener net.Listener
	state    atomic.Pointer[linkState]
	passing  atomic.Int64 // writes under way that no condition has held up

	mu          sync.Mutex // guards the fields below
	closed      bool
	connections map[*connection]struct{}
	ready       []net.Conn // connections to the node, for clients that are about to connect; oldest first
}

// Open starts a link: it listens on a port of its own until the proxy is closed.
func (p *Proxy) Open(cfg LinkConfig) (*Link, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort(cmp.Or(p.cfg.Host, "127.0.0.1"), "0"))
	if err != nil {
		return nil, fmt.Errorf("proxy of client %d and node %d: %w", cfg.Client, cfg.Node+1, err)
	}
	l := &Link{LinkConfig: cfg, proxy: p, listener: listener, connections: map[*connection]struct{}{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, errors.Join(fmt.Errorf("proxy of client %d and node %d: %w", cfg.Client, cfg.Node+1, net.ErrClosed), listener.Close())
	}
	p.links = append(p.links, l)
	p.refresh()
	p.work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { l.serve(client) })
		}
	})
	return l, nil
}

// Addr returns the address that the client dials: host:port, an IP literal.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Dial connects an in-process client. It connects to the node first, and so fails or takes as long
// as without a proxy. A client that dials Addr by itself is accepted and then cut off. Connections
// to the node are interchangeable: any client may get any of those that are ready.
func (l *Link) Dial(ctx context.Context) (net.Conn, error) {
	if err := l.open(ctx); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	node, err := l.LinkConfig.Dial(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.ready = append(l.ready, node)
	}
	l.mu.Unlock()
	if closed {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}, node.Close())
	}
	client, err := new(net.Dialer).DialContext(ctx, "tcp4", l.Addr())
	if err != nil {
		if node := l.takeReady(); node != nil {
			err = errors.Join(err, node.Close())
		}
		return nil, err
	}
	return client, nil
}

// takeReady returns the oldest connection to the node that is ready, or nil.
func (l *Link) takeReady() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ready) == 0 {
		return nil
	}
	node := l.ready[0]
	l.ready = l.ready[1:]
	return node
}

// open waits until no condition blocks the link.
func (l *Link) open(ctx context.Context) error {
	for {
		s := l.state.Load()
		if !s.blocked {
			return nil
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.proxy.ctx.Done():
			return net.ErrClosed
		}
	}
}

func (l *Link) serve(client net.Conn) {
	node := l.takeReady()
	if node == nil {
		err := l.open(l.proxy.ctx)
		if err == nil {
			node, err = l.LinkConfig.Dial(l.proxy.ctx)
		}
		if err != nil {
			if tcp, ok := client.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, as of an absent node
			}
			_ = client.Close()
			return
		}
	}
	c := &connection{link: l, client: client, node: node, gone: make(chan struct{})}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.connections[c] = struct{}{}
	}
	l.mu.Unlock()
	if closed {
		c.end()
		return
	}
	l.proxy.work.Go(func() {
		carry(&direction{connection: c, to: client}, node, &resp.Replies{}, (*direction).reply)
	})
	carry(&direction{connection: c, to: node}, client, &resp.Requests{}, (*direction).request)
}

func (l *Link) present() []*connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.connections))
}

func (p *Proxy) present() []*Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.links)
}

// Close ends all links and their connections, and waits for their goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.stop()
	links := slices.Clone(p.links)
	p.links = nil
	p.mu.Unlock()
	var errs []error
	for _, l := range links {
		errs = append(errs, l.listener.Close())
		l.mu.Lock()
		l.closed = true
		for _, node := range l.ready {
			errs = append(errs, node.Close())
		}
		l.ready = nil
		l.mu.Unlock()
		for _, c := range l.present() {
			c.end()
		}
	}
	p.work.Wait()
	return errors.Join(errs...)
}

// cutSubscribed cuts the connections that subscribe or have asked to, and returns their number.
func (p *Proxy) cutSubscribed() int {
	n := 0
	for _, l := range p.present() {
		for _, c := range l.present() {
			if c.pairs.Subscribes() {
				c.end()
				n++
			}
		}
	}
	return n
}
