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
	"github.com/lockbench/lockbench/internal/upstream"
)

// conn is one simulated connection, both ends of it: the client's end is the net.Conn, the server's end is a session of a
// node, and in between lie the requests and replies that the scheduler has not released. Nothing moves by itself, except the
// handshake of Redis clients, which no lock cares about.
//
// All fields are protected by world.mu: the client's goroutines read and write, the driver moves bytes.
type conn struct {
	world   *world
	client  *client
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

	opened  bool  // a command was sent that is no handshake
	shut    bool  // closed by the client
	lost    error // the connection broke; read once arrived is empty
	readBy  time.Time
	writeBy time.Time
	waiting bool          // a reader waits for bytes
	changed chan struct{} // cap 1: something a reader waits for has changed
	alias   int           // of its requests in the record
	inUse   int           // requests without a reply; with more than none the alias is taken
	last    uint64        // hash of the request that was sent last
	history uint64        // hash of what the node was asked over it, see state
	watches bool          // the node watches keys for it
	seen    int           // of a primary's writes, those at its last command

	sentUntil, givenUntil time.Time   // when a narrow connection has passed what is on it, each way
	timer                 *time.Timer // of the reader, of which there is one at a time; nil until it has waited
}

var _ net.Conn = (*conn)(nil)

// request is one command on its way.
type request struct {
	conn    *conn
	name    string
	args    []string
	op      faults.Operation // for which it was sent
	sent    int64            // on the timeline
	ready   int              // the step at which it became pending
	held    time.Time
	idle    bool // its client had neither a hold nor an operation under way
	command int  // index into the client's commands
	noted   int  // the step of the score that it became; 0 = none

	batch     *batch // nil for a request that was sent alone
	handshake bool   // a handshake, which is no event
	withheld  bool   // the client was stopped before it left
	kept      bool   // held back until a fault ends
	doomed    bool   // it will be lost

	answer   func(force bool) ([]byte, bool) // of a parked request
	parkedAt int64                           // on the timeline
	upTo     int                             // the write that a WAIT waits for
}

// reply is what comes back for a request, or a message to a subscriber, whose request is nil.
type reply struct {
	conn    *conn
	request *request
	nth     int // of a message to a subscriber: which of those that its client has had from the node
	bytes   []byte
	ready   int
	held    time.Time
	kept    bool // held back until a fault ends
	lost    bool // a fault has lost it
}

// String names the way of a connection: client and node.
func (cn *conn) String() string {
	if cn.node == cn.world.storeIndex() {
		return cn.client.name + "-store"
	}
	return cn.client.name + "-n" + strconv.Itoa(cn.node+1)
}

// Write takes requests. It never blocks: a network that is slow is slow to deliver, not to accept.
func (cn *conn) Write(b []byte) (int, error) {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	if err := cn.unusable("write"); err != nil {
		return 0, err
	}
	cn.frames.Feed(b)
	for {
		r, ok := cn.frames.Next()
		if !ok {
			return len(b), nil
		}
		if r.Opaque() || r.Len() == 0 {
			return 0, cn.opError("write", errors.New("the client sent what is not RESP"))
		}
		cn.send(r)
	}
}

func (cn *conn) send(r resp.Request) {
	args := texts(r)
	if cn.client.tokens != nil {
		cn.client.tokens.rename(args)
	}
	q := &request{conn: cn, name: strings.ToUpper(args[0]), args: args}
	cn.last = hashArgs(args)
	if cn.opens(q.name) {
		q.handshake = true
		cn.requests = append(cn.requests, q)
		cn.answerHandshakes()
		return
	}
	cn.world.enqueue(q)
}

// opens reports whether a command is a handshake. Handshakes are no events: how many there are is up to the client's pool. They are answered as soon as
// node and path are there, in turn with what else is on the connection. On a tape's replay so is what comes before the connection's first command of a name that
// the tape knows.
func (cn *conn) opens(command string) bool {
	if upstream.Handshake(command) {
		return true
	}
	f, replays := cn.world.strategy.(*follow)
	if replays && !cn.opened && f.commands != nil && !slices.Contains(f.commands, command) {
		return true
	}
	cn.opened = true
	return false
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

// Read waits for bytes, the end of the connection or the deadline. Bytes that have arrived come before a deadline that has passed:
// a client that was stopped finds in its socket what came meanwhile.
func (cn *conn) Read(b []byte) (int, error) {
	for {
		n, wait, err := cn.take(b)
		if n > 0 || err != nil {
			return n, err
		}
		if wait < 0 {
			<-cn.changed
			continue
		}
		cn.waitAtMost(wait)
	}
}

// waitAtMost waits for a change, or until d is over.
func (cn *conn) waitAtMost(d time.Duration) {
	if cn.timer == nil {
		cn.timer = time.NewTimer(d)
	} else {
		cn.timer.Reset(d)
	}
	defer cn.timer.Stop()
	select {
	case <-cn.changed:
	case <-cn.timer.C:
	}
}

// take reads without waiting; wait is how long to wait at most when there is nothing, negative for ever.
func (cn *conn) take(b []byte) (n int, wait time.Duration, err error) {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	switch {
	case cn.client.crashed:
		return 0, 0, cn.opError("read", impls.ErrCrashed)
	case cn.shut:
		return 0, 0, cn.opError("read", net.ErrClosed)
	case len(cn.arrived) > 0:
		n = copy(b, cn.arrived)
		cn.arrived = slices.Delete(cn.arrived, 0, n)
		return n, 0, nil
	case cn.lost != nil:
		return 0, 0, cn.lost
	case cn.readBy.IsZero(), cn.client.paused:
		cn.waiting = true
		return 0, -1, nil
	}
	wait = time.Until(cn.readBy.Add(lateness(cn.client.index, cn.node, cn.last)))
	if wait <= 0 {
		return 0, 0, cn.opError("read", os.ErrDeadlineExceeded)
	}
	cn.waiting = true
	return 0, wait, nil
}

// unusable is the error of a connection on which nothing can be written any more.
func (cn *conn) unusable(op string) error {
	switch {
	case cn.client.crashed:
		return cn.opError(op, impls.ErrCrashed)
	case cn.shut:
		return cn.opError(op, net.ErrClosed)
	case cn.lost != nil:
		return cn.opError(op, syscall.EPIPE)
	}
	return nil
}

func (cn *conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "sim", Addr: cn.RemoteAddr(), Err: err}
}

// Close ends the client's end. What was sent is still on its way; what comes back is thrown away.
func (cn *conn) Close() error {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	if cn.shut {
		return cn.opError("close", net.ErrClosed)
	}
	cn.shut = true
	cn.requests = slices.DeleteFunc(cn.requests, func(q *request) bool { return q.handshake })
	cn.replies, cn.arrived = nil, nil
	cn.parked = nil
	cn.server.subs.forget(cn)
	cn.wake()
	return nil
}

// wake lets a waiting reader look again. One who does not wait will look anyway.
func (cn *conn) wake() {
	if !cn.waiting {
		return
	}
	cn.waiting = false
	select {
	case cn.changed <- struct{}{}:
	default:
	}
}

// arrive puts bytes before the reader.
func (cn *conn) arrive(b []byte) {
	if cn.shut {
		return
	}
	cn.arrived = append(cn.arrived, b...)
	cn.wake()
}

// fail ends the connection from the network's side. Replies that are on their way are dropped with it.
func (cn *conn) fail(err error) {
	if cn.lost == nil {
		cn.lost = cn.opError("read", err)
		cn.client.observe(cn.place(), mixText(cn.history, err.Error()))
	}
	cn.replies, cn.parked = nil, nil
	cn.server.subs.forget(cn)
	cn.wake()
}

// publish queues a message to a subscriber.
func (cn *conn) publish(words ...string) {
	if cn.shut || cn.lost != nil {
		return
	}
	cn.client.messages[cn.node]++
	cn.world.enqueueReply(&reply{conn: cn, nth: cn.client.messages[cn.node], bytes: pushed(cn.session.peer.Resp3, words)})
}

// LocalAddr is a made-up address.
func (cn *conn) LocalAddr() net.Addr { return simAddr("10.0.0." + cn.client.name[1:] + ":1") }

// RemoteAddr is the address that was dialled.
func (cn *conn) RemoteAddr() net.Addr { return simAddr(nodeAddr(cn.node)) }

// SetDeadline sets both deadlines.
func (cn *conn) SetDeadline(t time.Time) error {
	if err := cn.SetWriteDeadline(t); err != nil {
		return err
	}
	return cn.SetReadDeadline(t)
}

// SetReadDeadline sets when a waiting Read gives up.
func (cn *conn) SetReadDeadline(t time.Time) error {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	cn.readBy = t
	cn.wake()
	return nil
}

// SetWriteDeadline sets when a request that its client was stopped from sending is given up. Otherwise Write never waits.
func (cn *conn) SetWriteDeadline(t time.Time) error {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	cn.writeBy = t
	return nil
}

// giveUp forgets the requests that the client was stopped from sending until their time was over: a socket refuses them then.
func (cn *conn) giveUp(now time.Time) {
	if cn.writeBy.IsZero() || now.Before(cn.writeBy) {
		return
	}
	cn.requests = slices.DeleteFunc(cn.requests, func(q *request) bool { return q.withheld })
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
