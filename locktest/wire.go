package locktest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// wires are all connections of one client, and what is done to them.
type wires struct {
	mu       sync.Mutex // the client's goroutines against the test's
	open     []*wire
	dead     bool
	countTo  int           // the client dies when so many more requests have left; 0: it does not
	loseNext int           // so many next replies are lost
	delay    time.Duration // every reply is held back
	sent     int
	down     []*node // cannot be reached
	hung     []*node // swallow requests
	lossy    []*node // do what is asked, and the reply is lost
}

var errDead = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("the client is dead")}

// die cuts everything and lets nothing through any more.
func (w *wires) die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dieLocked()
}

func (w *wires) dieLocked() {
	w.dead = true
	for _, c := range w.open {
		_ = c.Conn.Close()
	}
	w.open = nil
}

// dieAfter lets n more requests through; their replies and all that follows are lost.
func (w *wires) dieAfter(n int) { w.set(func() { w.countTo = n }) }

// loseReplies loses the replies of the next n requests; the server has done what they asked.
func (w *wires) loseReplies(n int) { w.set(func() { w.loseNext = n }) }

// slow holds back every reply.
func (w *wires) slow(d time.Duration) { w.set(func() { w.delay = d }) }

// requests counts what was sent since the last call.
func (w *wires) requests() (n int) {
	w.set(func() { n, w.sent = w.sent, 0 })
	return n
}

// unreachable cuts the client off from some nodes, and from no others.
func (w *wires) unreachable(nodes []*node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = nodes
	w.open = slices.DeleteFunc(w.open, func(c *wire) bool {
		cut := slices.Contains(nodes, c.node)
		if cut {
			_ = c.Conn.Close()
		}
		return cut
	})
}

// cutSubscriptions cuts the connections that listen to channels.
func (w *wires) cutSubscriptions() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		if c.subscribed.Load() {
			_ = c.Conn.Close()
		}
	}
}

// impair makes some nodes hang and some lose every reply, and no others.
func (w *wires) impair(hung, lossy []*node) { w.set(func() { w.hung, w.lossy = hung, lossy }) }

func (w *wires) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *wires) dial(ctx context.Context, n *node) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	dead := w.dead || slices.Contains(w.down, n)
	w.mu.Unlock()
	if dead {
		return nil, errDead
	}
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &wire{Conn: conn, all: w, node: n}
	w.set(func() { w.open = append(w.open, c) })
	return c, nil
}

// wire is one connection.
type wire struct {
	net.Conn
	all  *wires
	node *node

	subscribed atomic.Bool

	mu   sync.Mutex // Read and Write come from two goroutines
	lost bool
}

// handshakes are requests of the Redis client and not of the lock.
var handshakes = [][]byte{[]byte("hello"), []byte("client\r\n"), []byte("subscribe")}

// Write passes a request on and arranges what is to become of its reply.
func (c *wire) Write(b []byte) (int, error) {
	lower := bytes.ToLower(b)
	for _, h := range handshakes {
		if bytes.Contains(lower, h) {
			c.subscribed.Store(bytes.Contains(lower, []byte("subscribe")))
			return c.Conn.Write(b)
		}
	}
	hang, lose, last := c.all.next(c.node)
	if hang {
		return len(b), nil
	}
	c.mu.Lock()
	c.lost = lose || last
	c.mu.Unlock()
	n, err := c.Conn.Write(b)
	if last {
		c.await()
		c.all.die()
	}
	return n, err
}

// await reads the reply, so that the server has done what was asked before the client dies.
func (c *wire) await() {
	_ = c.Conn.SetReadDeadline(time.Now().Add(time.Second)) // a connection that was closed meanwhile needs none
	_, _ = c.Conn.Read(make([]byte, 1<<12))                 // an error is as good: nothing will come any more
}

// next counts a request.
func (w *wires) next(n *node) (hang, lose, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	if w.loseNext > 0 {
		w.loseNext--
		lose = true
	}
	if w.countTo > 0 {
		w.countTo--
		last = w.countTo == 0
	}
	return slices.Contains(w.hung, n), lose || slices.Contains(w.lossy, n), last
}

// Read passes a reply on, late or not at all.
func (c *wire) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if lost {
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	var d time.Duration
	c.all.set(func() { d = c.all.delay })
	if d > 0 && err == nil {
		time.Sleep(d)
	}
	return n, err
}
