package sim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// link is one simulated connection, both ends of it: the client's end is the net.Conn, the server's end is a session of a
// node, and in between lie the requests and replies that the scheduler has not released. Nothing moves by itself, except the
// handshake of Redis clients, which no lock cares about.
//
// All fields are protected by world.mu: the client's goroutines read and write, the driver moves bytes.
type link struct {
	world   *world
	actor   *actor
	node    int // index of the address that was dialled
	seq     int // which connection of this client to this node, from 0
	number  uint64
	server  *node // the server that answered the dial
	session *session
	frames  resp.Requests

	requests []*request // sent, not yet at the server
	replies  []*reply   // made, not yet at the client
	parked   *request   // at the server, which will answer later (WAIT, BLPOP)
	arrived  []byte     // at the client, not yet read

	shut    bool  // closed by the client
	lost    error // the connection broke; read once arrived is empty
	readBy  time.Time
	writeBy time.Time
	waiting bool          // a reader waits for bytes
	changed chan struct{} // cap 1: something a reader waits for has changed
	lane    int           // of its requests in the record
	inUse   int           // requests without a reply; with more than none the lane is taken
	last    uint64        // hash of the request that was sent last
	asked   uint64        // hash of what the node was asked over it, see state
	watches bool          // the node watches keys for it

	sentUntil, givenUntil time.Time   // when a narrow link has passed what is on it, each way
	timer                 *time.Timer // of the reader, of which there is one at a time; nil until it has waited
}

var _ net.Conn = (*link)(nil)

// request is one command on its way.
type request struct {
	link    *link
	name    string
	args    []string
	op      faults.Operation // for which it was sent
	sent    int64            // on the timeline
	ready   int              // the step at which it became pending
	held    time.Time
	idle    bool // its client had neither a hold nor an operation under way
	command int  // index into the actor's commands
	noted   int  // the step of the score that it became; 0 = none

	batch    *batch // nil for a request that was sent alone
	quiet    bool   // a handshake, which is no event
	withheld bool   // the client was stopped before it left
	kept     bool   // held back until a fault ends
	doomed   bool   // it will be lost

	answer   func(force bool) ([]byte, bool) // of a parked request
	parkedAt int64                           // on the timeline
	upTo     int                             // the write that a WAIT waits for
}

// reply is what comes back for a request, or a message to a subscriber, whose request is nil.
type reply struct {
	link    *link
	request *request
	bytes   []byte
	ready   int
	held    time.Time
	kept    bool // held back until a fault ends
	lost    bool // a fault has lost it
}

// String names the way of a link: client and node.
func (l *link) String() string {
	if l.node == l.world.storeIndex() {
		return l.actor.name + "-store"
	}
	return l.actor.name + "-n" + strconv.Itoa(l.node+1)
}

// Write takes requests. It never blocks: a network that is slow is slow to deliver, not to accept.
func (l *link) Write(b []byte) (int, error) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if err := l.unusable("write"); err != nil {
		return 0, err
	}
	l.frames.Feed(b)
	for {
		r, ok := l.frames.Next()
		if !ok {
			return len(b), nil
		}
		if r.Opaque() || r.Len() == 0 {
			return 0, l.opError("write", errors.New("the client sent what is not RESP"))
		}
		l.send(r)
	}
}

func (l *link) send(r resp.Request) {
	args := texts(r)
	if l.actor.tokens != nil {
		l.actor.tokens.rename(args)
	}
	q := &request{link: l, name: strings.ToUpper(args[0]), args: args}
	l.last = hashArgs(args)
	if handshake[q.name] {
		q.quiet = true
		l.requests = append(l.requests, q)
		l.greet()
		return
	}
	l.world.pend(q)
}

// texts returns the words of a request as strings that share their storage.
func texts(r resp.Request) []string {
	size := 0
	for i := range r.Len() {
		size += len(r.Arg(i))
	}
	var all strings.Builder
	all.Grow(size)
	for i := range r.Len() {
		all.Write(r.Arg(i)) // a builder takes everything
	}
	args, text := make([]string, r.Len()), all.String()
	for i := range args {
		n := len(r.Arg(i))
		args[i], text = text[:n], text[n:]
	}
	return args
}

// handshake are the commands with which Redis clients open and keep a connection. They are no events: how many there are is up to the
// client's pool, and no lock depends on when they happen. They are answered as soon as node and path are there, in turn with what else is on
// the link.
var handshake = map[string]bool{
	"HELLO": true, "AUTH": true, "CLIENT": true, "SELECT": true, "READONLY": true, "PING": true, "COMMAND": true, "QUIT": true, "CLUSTER": true,
}

// Read waits for bytes, the end of the connection or the deadline. Bytes that have arrived come before a deadline that has passed:
// a client that was stopped finds in its socket what came meanwhile.
func (l *link) Read(b []byte) (int, error) {
	for {
		n, wait, err := l.take(b)
		if n > 0 || err != nil {
			return n, err
		}
		if wait < 0 {
			<-l.changed
			continue
		}
		l.waitAtMost(wait)
	}
}

// waitAtMost waits for a change, or until d is over.
func (l *link) waitAtMost(d time.Duration) {
	if l.timer == nil {
		l.timer = time.NewTimer(d)
	} else {
		l.timer.Reset(d)
	}
	defer l.timer.Stop()
	select {
	case <-l.changed:
	case <-l.timer.C:
	}
}

// take reads without waiting; wait is how long to wait at most when there is nothing, negative for ever.
func (l *link) take(b []byte) (n int, wait time.Duration, err error) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	switch {
	case l.actor.crashed:
		return 0, 0, l.opError("read", impls.ErrCrashed)
	case l.shut:
		return 0, 0, l.opError("read", net.ErrClosed)
	case len(l.arrived) > 0:
		n = copy(b, l.arrived)
		l.arrived = slices.Delete(l.arrived, 0, n)
		return n, 0, nil
	case l.lost != nil:
		return 0, 0, l.lost
	case l.readBy.IsZero(), l.actor.paused:
		l.waiting = true
		return 0, -1, nil
	}
	wait = time.Until(l.readBy.Add(lateness(l.actor.index, l.node, l.last)))
	if wait <= 0 {
		return 0, 0, l.opError("read", os.ErrDeadlineExceeded)
	}
	l.waiting = true
	return 0, wait, nil
}

// unusable is the error of a connection on which nothing can be written any more.
func (l *link) unusable(op string) error {
	switch {
	case l.actor.crashed:
		return l.opError(op, impls.ErrCrashed)
	case l.shut:
		return l.opError(op, net.ErrClosed)
	case l.lost != nil:
		return l.opError(op, syscall.EPIPE)
	}
	return nil
}

func (l *link) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "sim", Addr: l.RemoteAddr(), Err: err}
}

// Close ends the client's end. What was sent is still on its way; what comes back is thrown away.
func (l *link) Close() error {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	if l.shut {
		return l.opError("close", net.ErrClosed)
	}
	l.shut = true
	l.requests = slices.DeleteFunc(l.requests, func(q *request) bool { return q.quiet })
	l.replies, l.arrived = nil, nil
	l.parked = nil
	l.server.subs.forget(l)
	l.wake()
	return nil
}

// wake lets a waiting reader look again. One who does not wait will look anyway.
func (l *link) wake() {
	if !l.waiting {
		return
	}
	l.waiting = false
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// arrive puts bytes before the reader.
func (l *link) arrive(b []byte) {
	if l.shut {
		return
	}
	l.arrived = append(l.arrived, b...)
	l.wake()
}

// breakOff ends the connection from the network's side. Replies that are on their way are dropped with it.
func (l *link) breakOff(err error) {
	if l.lost == nil {
		l.lost = l.opError("read", err)
		l.actor.learn(l.place(), mixText(l.asked, err.Error()))
	}
	l.replies, l.parked = nil, nil
	l.server.subs.forget(l)
	l.wake()
}

// push queues a message to a subscriber.
func (l *link) push(words ...string) {
	if l.shut || l.lost != nil {
		return
	}
	l.world.pendReply(&reply{link: l, bytes: pushed(l.session.peer.Resp3, words)})
}

// LocalAddr is a made-up address.
func (l *link) LocalAddr() net.Addr { return simAddr("10.0.0." + l.actor.name[1:] + ":1") }

// RemoteAddr is the address that was dialled.
func (l *link) RemoteAddr() net.Addr { return simAddr(nodeAddr(l.node)) }

// SetDeadline sets both deadlines.
func (l *link) SetDeadline(t time.Time) error {
	if err := l.SetWriteDeadline(t); err != nil {
		return err
	}
	return l.SetReadDeadline(t)
}

// SetReadDeadline sets when a waiting Read gives up.
func (l *link) SetReadDeadline(t time.Time) error {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.readBy = t
	l.wake()
	return nil
}

// SetWriteDeadline sets when a request that its client was stopped from sending is given up. Otherwise Write never waits.
func (l *link) SetWriteDeadline(t time.Time) error {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.writeBy = t
	return nil
}

// giveUp forgets the requests that the client was stopped from sending until their time was over: a socket refuses them then.
func (l *link) giveUp(now time.Time) {
	if l.writeBy.IsZero() || now.Before(l.writeBy) {
		return
	}
	l.requests = slices.DeleteFunc(l.requests, func(q *request) bool { return q.withheld })
}

type simAddr string

func (simAddr) Network() string  { return "sim" }
func (a simAddr) String() string { return string(a) }

// nodeAddr is the address of a node as clients dial it: an IP literal, because a host name would start a resolver.
func nodeAddr(i int) string { return nodeNet + strconv.Itoa(i+1) + nodePort }

const (
	nodeNet  = "127.0.0."
	nodePort = ":6379"
)

// nodeOf is the node that an address leads to.
func nodeOf(addr string) (int, error) {
	number, ok := strings.CutPrefix(addr, nodeNet)
	number, of := strings.CutSuffix(number, nodePort)
	i, err := strconv.Atoi(number)
	if !ok || !of || err != nil {
		return 0, fmt.Errorf("address %s is not one of this world", addr)
	}
	return i - 1, nil
}

// What a client sees of a connection that broke: the network cut it, or the node is gone.
const errCut = syscall.ECONNRESET

var errGone = io.EOF
