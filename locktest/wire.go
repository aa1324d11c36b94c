package locktest

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/internal/upstream"
)

// wires are all connections of one client, with the faults on them.
type wires struct {
	c    *trial
	name string // of the client

	mu           sync.Mutex // the client's goroutines and the test's
	call         string     // the method of the lock that is running
	open         []*wire
	dead         bool
	countTo      int           // the client dies after this many more requests; 0: never
	loseRequests int           // how many of the next requests never arrive
	loseNext     int           // how many of the next replies are lost
	delay        time.Duration // delay of every reply
	onReply      func()        // called once when a reply has arrived, before it is passed on
	toReply      int           // which reply from now on
	sent         int
	down         []*node // can't be reached
	hung         []*node // accept requests and never reply
	lossy        []*node // execute requests, but the replies are lost

	instant time.Time // of the last request
	burst   int       // requests at that instant since the last call
	spun    bool
}

// spinLimit is how many requests one call, or the background between calls, may send at one instant of virtual time.
const spinLimit = 1000

var errDead = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("the client is dead")}

// cutAll cuts all connections and allows no new ones.
func (w *wires) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, c := range w.open {
		_ = c.Conn.Close()
	}
	w.open = nil
}

// cutOpen cuts the connections that are open; the client may make others.
func (w *wires) cutOpen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		_ = c.Conn.Close()
	}
	w.open = nil
}

// cutAfter allows n more requests; their replies and all that follows are lost.
func (w *wires) cutAfter(n int) { w.set(func() { w.countTo = n }) }

// loseReplies loses the replies to the next n requests; the server has executed them.
func (w *wires) loseReplies(n int) { w.set(func() { w.loseNext = n }) }

// dropRequests loses the next n requests on their way: the connection breaks and the server has executed nothing.
func (w *wires) dropRequests(n int) { w.set(func() { w.loseRequests = n }) }

// slow delays every reply. Replies that arrive together stay together.
func (w *wires) slow(d time.Duration) { w.set(func() { w.delay = d }) }

// delayed returns how long a reply is delayed now.
func (w *wires) delayed() (d time.Duration) {
	w.set(func() { d = w.delay })
	return d
}

// whenAnswered calls f once, when the server has executed the n-th request from now on and before the client gets the reply; 0 means never.
func (w *wires) whenAnswered(n int, f func()) { w.set(func() { w.toReply, w.onReply = n, f }) }

// arrived counts a reply and returns what is to be called before it is passed on; nil for nothing.
func (w *wires) arrived() (tell func()) {
	w.set(func() {
		if w.toReply--; w.toReply == 0 {
			tell = w.onReply
		}
	})
	return tell
}

// requests returns the number of requests sent since its last call.
func (w *wires) requests() (n int) {
	w.set(func() { n, w.sent = w.sent, 0 })
	return n
}

// calling sets which method of the lock is running, "" for none.
func (w *wires) calling(name string) { w.set(func() { w.call, w.burst = name, 0 }) }

// unreachable cuts the client off from exactly the given nodes.
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

// connections returns the number of open connections.
func (w *wires) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

// subscriptions returns the number of connections with a subscription.
func (w *wires) subscriptions() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		if c.subscribed.Load() {
			n++
		}
	}
	return n
}

// cutSubscriptions cuts the connections with a subscription.
func (w *wires) cutSubscriptions() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		if c.subscribed.Load() {
			_ = c.Conn.Close()
		}
	}
}

// impair makes exactly these nodes hang or lose every reply.
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
	spins := dead && w.spins()
	w.mu.Unlock()
	if spins {
		time.Sleep(w.c.lease / 100) // lets time advance, so that the call can end
	}
	if dead {
		return nil, errDead
	}
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &wire{Conn: conn, line: newLine(), all: w, node: n}
	w.set(func() { w.open = append(w.open, c) })
	go c.listen()
	go c.line.deliver(w.delayed)
	return c, nil
}

// wire is one connection.
type wire struct {
	net.Conn
	line *line // of the replies
	all  *wires
	node *node

	subscribed atomic.Bool
	lost       atomic.Bool   // what comes is lost
	asked      resp.Requests // the writer's
	answers    resp.Replies  // the reader's
	pairs      resp.Pairing[*entry]
}

// Write passes a request on and arranges what happens to its reply.
func (c *wire) Write(b []byte) (int, error) {
	if !c.note(b) {
		return c.Conn.Write(b)
	}
	f := c.all.next(c.node)
	if f.spins {
		time.Sleep(c.all.c.lease / 100) // lets time advance, so that the call can end
	}
	if f.hang {
		return len(b), nil
	}
	c.lost.Store(f.loseReply || f.last || f.loseRequest)
	if f.loseRequest {
		_ = c.Conn.Close()
		return len(b), nil
	}
	c.line.expect()
	n, err := c.Conn.Write(b)
	if f.last {
		c.await()
		c.all.cutAll()
	}
	return n, err
}

// note records what is about to be sent, and reports whether it contains a request of the lock.
func (c *wire) note(b []byte) bool {
	var call string
	c.all.set(func() { call = c.all.call })
	own := false
	c.asked.Feed(b)
	for {
		r, ok := c.asked.Next()
		if !ok {
			return own
		}
		var e *entry
		switch name := r.Name(); {
		case strings.HasSuffix(name, "SUBSCRIBE"):
			c.subscribed.Store(true)
		case !upstream.Handshake(name):
			own = true
			e = c.all.c.log.sent(c.all.name, call, r)
		}
		c.pairs.Expect(r, e)
	}
}

// await waits until a reply has arrived, so that the server has executed the request before the client dies.
func (c *wire) await() {
	limit := time.NewTimer(time.Second) // a connection closed meanwhile needs none
	defer limit.Stop()
	select {
	case <-c.line.arrived:
	case <-limit.C:
	}
}

// listen passes the replies on to the line until the connection ends.
func (c *wire) listen() {
	pprof.SetGoroutineLabels(context.Background()) // it is the kit's, not the lock's
	b := make([]byte, 1<<12)
	for {
		n, err := c.Conn.Read(b)
		at := time.Now()
		c.received(b[:n])
		var tell func()
		if c.lost.Load() {
			_ = c.Conn.Close()
			n, err = 0, io.EOF
		} else if n > 0 {
			tell = c.all.arrived()
		}
		c.line.send(at, b[:n], err, tell)
		if err != nil {
			return
		}
	}
}

// Read returns replies that have gone through the line.
func (c *wire) Read(b []byte) (int, error) { return c.line.out.Read(b) }

// SetDeadline sets both deadlines.
func (c *wire) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.Conn.SetWriteDeadline(t))
}

// SetReadDeadline limits how long the client waits at the end of the line.
func (c *wire) SetReadDeadline(t time.Time) error { return c.line.out.SetReadDeadline(t) }

// handling is what happens to one request.
type handling struct {
	hang, loseRequest, loseReply bool
	last                         bool // the client dies when the server has executed it
	spins                        bool
}

// next counts a request and decides what happens to it.
func (w *wires) next(n *node) (f handling) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	if w.loseRequests > 0 {
		w.loseRequests--
		f.loseRequest = true
	} else if w.loseNext > 0 {
		w.loseNext--
		f.loseReply = true
	}
	if w.countTo > 0 {
		w.countTo--
		f.last = w.countTo == 0
	}
	f.hang = slices.Contains(w.hung, n)
	f.loseReply = f.loseReply || slices.Contains(w.lossy, n)
	f.spins = w.spins()
	return f
}

// spins reports whether so many requests were sent at one instant that the lock would never stop.
func (w *wires) spins() bool {
	switch {
	case w.c.slack > 0:
		return false
	case w.spun:
		return true
	}
	if now := time.Now(); !now.Equal(w.instant) {
		w.instant, w.burst = now, 0
	}
	w.burst++
	if w.burst <= spinLimit {
		return false
	}
	w.spun = true
	w.c.errorf("%s sent %d requests, or tried to connect, without time passing: %s", w.name, w.burst, w.c.log.tail(1))
	return true
}

// Close closes the connection and removes it from the client's.
func (c *wire) Close() error {
	c.all.set(func() { c.all.open = slices.DeleteFunc(c.all.open, func(o *wire) bool { return o == c }) })
	return errors.Join(c.line.out.Close(), c.Conn.Close())
}

// received records a reply.
func (c *wire) received(b []byte) {
	c.answers.Feed(b)
	for {
		r, ok := c.answers.Next()
		if !ok {
			return
		}
		if e, _ := c.pairs.Answer(r); e != nil {
			c.all.c.log.answered(e, c.node, r.Line(wordSize))
		}
	}
}
