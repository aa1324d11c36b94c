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
	ill          map[*node]ailment

	instant time.Time // of the last request
	burst   int       // requests at that instant since the last call
	spun    bool
}

// ailment is what a node has, from one client's point of view.
type ailment string

const (
	well    ailment = ""
	down    ailment = "down"           // it can't be reached
	hanging ailment = "hanging"        // it accepts requests and never replies
	losing  ailment = "losing replies" // it executes requests
)

// spinLimit is how many requests one call, or the background between calls, may send at one instant
// of virtual time.
const spinLimit = 1000

var errDead = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("the client is dead")}

// Faults of a client's connections, as package reach counts them.
const (
	lostRequest = "a lost request"
	lostReply   = "a lost reply"
	slowedReply = "a slow reply"
	cutConn     = "a cut connection"
	lastRequest = "a client that dies with a request"
	between     = "an event between a request and its reply"
	illNode     = "a node that is " // with its ailment
)

func (w *wires) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// arm sets or ends a fault.
func (w *wires) arm(fault string, comes bool, change func()) {
	if comes {
		w.c.mu.Lock()
		w.c.reached.Could(fault)
		w.c.mu.Unlock()
	}
	w.set(change)
}

// cut cuts some of the connections that are open; the client may make others.
func (w *wires) cut(which func(*wire) bool) {
	w.set(func() {
		w.open = slices.DeleteFunc(w.open, func(c *wire) bool {
			if !which(c) {
				return false
			}
			w.c.did(cutConn)
			_ = c.Conn.Close()
			return true
		})
	})
}

func anyWire(*wire) bool              { return true }
func subscribedWire(c *wire) bool     { return c.pairs.Subscribes() }
func (w *wires) cutAll()              { w.set(func() { w.dead = true }); w.cut(anyWire) }
func (w *wires) cutAfter(n int)       { w.arm(lastRequest, n > 0, func() { w.countTo = n }) }
func (w *wires) loseReplies(n int)    { w.arm(lostReply, n > 0, func() { w.loseNext = n }) }
func (w *wires) dropRequests(n int)   { w.arm(lostRequest, n > 0, func() { w.loseRequests = n }) }
func (w *wires) slow(d time.Duration) { w.arm(slowedReply, d > 0, func() { w.delay = d }) } // replies that arrive together stay together

// count returns how many connections are open.
func (w *wires) count(which func(*wire) bool) (n int) {
	w.set(func() {
		for _, c := range w.open {
			if which(c) {
				n++
			}
		}
	})
	return n
}

// whenAnswered calls f once, when the server has executed the n-th request from now on and before
// the client gets the reply; 0 means never.
func (w *wires) whenAnswered(n int, f func()) {
	w.arm(between, n > 0, func() { w.toReply, w.onReply = n, f })
}

// requests returns the number of requests sent since its last call.
func (w *wires) requests() (n int) {
	w.set(func() { n, w.sent = w.sent, 0 })
	return n
}

// calling sets which method of the lock is running, "" for none.
func (w *wires) calling(name string) { w.set(func() { w.call, w.burst = name, 0 }) }

// afflict gives exactly these nodes an ailment.
func (w *wires) afflict(how ailment, nodes []*node) {
	ill := map[*node]ailment{}
	for _, n := range nodes {
		ill[n] = how
	}
	w.arm(illNode+string(how), how != well && len(nodes) > 0, func() { w.ill = ill })
	w.cut(func(c *wire) bool {
		w.sick(c.node, down) // it sees that its connection breaks
		return ill[c.node] == down
	})
}

func (w *wires) dial(ctx context.Context, n *node) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var dead, spins bool
	w.set(func() {
		dead = w.dead || w.ill[n] == down
		w.sick(n, down)
		spins = dead && w.spins()
	})
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
	c := &wire{Conn: conn, all: w, node: n, way: make(chan reply, onTheWay), arrived: make(chan struct{}, 1)}
	c.in, c.out = net.Pipe()
	w.set(func() { w.open = append(w.open, c) })
	go c.listen()
	go c.deliver()
	return c, nil
}

// sick counts that a client has met an ailment of a node. The caller holds w.mu.
func (w *wires) sick(n *node, with ...ailment) {
	if slices.Contains(with, w.ill[n]) {
		w.c.did(illNode + string(w.ill[n]))
	}
}

// spins reports whether so many requests were sent at one instant that the lock would never stop.
func (w *wires) spins() bool {
	if w.c.slack > 0 || w.spun {
		return w.spun
	}
	if now := time.Now(); !now.Equal(w.instant) {
		w.instant, w.burst = now, 0
	}
	w.burst++
	if w.spun = w.burst > spinLimit; w.spun {
		w.c.errorf("%s sent %d requests, or tried to connect, without time passing: %s", w.name, w.burst, w.c.log.tail(1))
	}
	return w.spun
}

// wire is one connection. Its replies go through a queue, in which each stays for the client's
// delay, and come out of a pipe.
type wire struct {
	net.Conn
	all     *wires
	node    *node
	in, out net.Conn // the pipe
	way     chan reply
	arrived chan struct{} // has a value once a reply has come

	lost    atomic.Bool   // what comes is lost
	asked   resp.Requests // the writer's
	answers resp.Replies  // the reader's
	pairs   resp.Pairing[*entry]
}

// reply are bytes that have arrived together, or the end of the connection.
type reply struct {
	at   time.Time
	data []byte
	end  bool
}

// onTheWay is how many replies a connection can queue.
const onTheWay = 1 << 8

// Write passes a request on and arranges what happens to its reply.
func (c *wire) Write(b []byte) (int, error) {
	if !c.note(b) {
		return c.Conn.Write(b)
	}
	w := c.all
	w.mu.Lock()
	w.sent++
	var losesRequest, losesReply bool
	if w.loseRequests > 0 {
		w.loseRequests--
		w.c.did(lostRequest)
		losesRequest = true
	} else if w.loseNext > 0 {
		w.loseNext--
		w.c.did(lostReply)
		losesReply = true
	}
	last := w.countTo == 1
	if w.countTo = max(w.countTo-1, 0); last {
		w.c.did(lastRequest)
	}
	w.sick(c.node, hanging, losing)
	how, spins := w.ill[c.node], w.spins()
	w.mu.Unlock()
	if spins {
		time.Sleep(w.c.lease / 100) // lets time advance, so that the call can end
	}
	if how == hanging {
		return len(b), nil
	}
	c.lost.Store(losesReply || how == losing || last || losesRequest)
	if losesRequest {
		_ = c.Conn.Close()
		return len(b), nil
	}
	select {
	case <-c.arrived: // of an earlier request
	default:
	}
	n, err := c.Conn.Write(b)
	// the client dies when the server has executed the request; a connection closed meanwhile needs
	// no reply
	if last {
		select {
		case <-c.arrived:
		case <-time.After(time.Second):
		}
		w.cutAll()
	}
	return n, err
}

// note records what is about to be sent, and reports whether it contains a request of the lock.
func (c *wire) note(b []byte) (own bool) {
	var call string
	c.all.set(func() { call = c.all.call })
	c.asked.Feed(b)
	for r, ok := c.asked.Next(); ok; r, ok = c.asked.Next() {
		var e *entry
		if name := r.Name(); !strings.HasSuffix(name, "SUBSCRIBE") && !upstream.Handshake(name) {
			own = true
			e = c.all.c.log.sent(c.all.name, call, r)
		}
		c.pairs.Expect(r, e)
	}
	return own
}

// listen records the replies and queues them until the connection ends.
func (c *wire) listen() {
	pprof.SetGoroutineLabels(context.Background()) // it is the kit's, not the lock's
	defer close(c.way)
	b := make([]byte, 1<<12)
	for {
		n, err := c.Conn.Read(b)
		at := time.Now()
		c.answers.Feed(b[:n])
		for r, ok := c.answers.Next(); ok; r, ok = c.answers.Next() {
			if e, _ := c.pairs.Answer(r); e != nil {
				c.all.c.log.answered(e, c.node, r.Line(wordSize))
			}
		}
		if c.lost.Load() {
			_ = c.Conn.Close()
			n, err = 0, io.EOF
		}
		if n > 0 || err != nil {
			c.way <- reply{at, slices.Clone(b[:n]), err != nil}
		}
		select {
		case c.arrived <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// deliver hands the replies to the reader, each a delay after it came.
func (c *wire) deliver() {
	pprof.SetGoroutineLabels(context.Background()) // it is the kit's, not the lock's
	for r := range c.way {
		// here, so that the server's next replies are read meanwhile: it may write to this
		// connection while it serves another
		var tell func()
		var delay time.Duration
		c.all.set(func() {
			if delay = c.all.delay; len(r.data) == 0 {
				return
			}
			if c.all.toReply--; c.all.toReply == 0 {
				tell = c.all.onReply
			}
		})
		if tell != nil {
			c.all.c.did(between)
			tell()
		}
		if delay > 0 && !r.end {
			c.all.c.did(slowedReply)
			time.Sleep(time.Until(r.at.Add(delay)))
		}
		if len(r.data) > 0 { // a pipe keeps a writer of nothing as well until somebody reads
			_, _ = c.in.Write(r.data) // fails when the client has closed its end
		}
		if r.end {
			_ = c.in.Close()
		}
	}
}

// Read returns replies that have gone through the queue.
func (c *wire) Read(b []byte) (int, error) { return c.out.Read(b) }

// SetDeadline sets both deadlines.
func (c *wire) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.Conn.SetWriteDeadline(t))
}

// SetReadDeadline limits how long the client waits at the end of the queue.
func (c *wire) SetReadDeadline(t time.Time) error { return c.out.SetReadDeadline(t) }

// Close closes the connection and removes it from the client's.
func (c *wire) Close() error {
	c.all.set(func() { c.all.open = slices.DeleteFunc(c.all.open, func(o *wire) bool { return o == c }) })
	return errors.Join(c.out.Close(), c.Conn.Close())
}
