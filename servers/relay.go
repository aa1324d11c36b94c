package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Relay gives a node one local address for as long as the relay lives, wherever the node is at the moment: for clients that are
// other processes and cannot call Dial. A container that came back on another port, the primary after a failover and a
// server that wants a password are all reached in the same way. It costs a hop through this process on every round trip.
//
// A connection to a node that is down is accepted and reset, because the relay cannot refuse it after the fact.
type Relay struct {
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	ctx      context.Context
	cancel   context.CancelFunc
	all      sync.WaitGroup // the accepting goroutine, and two for each connection
}

// NewRelay listens on 127.0.0.1 and forwards to a node of a deployment, by number as in Dial.
func NewRelay(d Deployment, node int) (*Relay, error) {
	if node < 0 || node >= d.Len() {
		return nil, fmt.Errorf("relay to node %d: there are %d, from 0", node, d.Len())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r := &Relay{listener: listener, dial: to(d, node)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.all.Go(r.accept)
	return r, nil
}

// Addr is where clients connect.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Close ends every connection and waits until nothing of the relay runs any more.
func (r *Relay) Close() error {
	r.cancel()
	err := r.listener.Close()
	r.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// accept takes connections until the listener is closed.
func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.all.Go(func() { r.forward(client) })
	}
}

// forward carries bytes both ways until either end closes or the relay does.
func (r *Relay) forward(client net.Conn) {
	server, err := r.dial(r.ctx)
	if err != nil {
		reset(client)
		return
	}
	// Whatever ends first ends the other: a lock client does not go on reading after it has closed its sending side.
	end := sync.OnceFunc(func() {
		reset(client)
		server.Close()
	})
	stop := context.AfterFunc(r.ctx, end)
	defer stop()
	back := make(chan struct{})
	go func() {
		defer close(back)
		defer end()
		_, _ = io.Copy(client, server)
	}()
	_, _ = io.Copy(server, client)
	end()
	<-back
}

// reset closes a connection as the kernel does for a process that was killed: at once, without a farewell.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
