package locktest

import (
	"context"
	"io"
	"net"
)

// address returns where the client reaches a node. In real time it is a local port that leads through the client's own connections, so that a library
// which takes only an address meets every fault; in virtual time there are no sockets.
func (cl *client) address(n *node) string {
	if cl.c.slack == 0 || cl.c.cfg.Variant {
		return n.addr
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return n.addr
	}
	cl.shims = append(cl.shims, l)
	s := &shim{cl: cl, node: n, listener: l}
	go s.accept()
	return l.Addr().String()
}

// shim forwards a port to a client's connections.
type shim struct {
	cl       *client
	node     *node
	listener net.Listener
}

// accept returns when the listener is closed.
func (s *shim) accept() {
	for {
		in, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.lead(in)
	}
}

// lead copies in both directions until one side ends.
func (s *shim) lead(in net.Conn) {
	defer in.Close()
	out, err := s.cl.wires.dial(context.Background(), s.node)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}
