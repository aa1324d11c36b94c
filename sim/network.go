package sim

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/internal/upstream"
)

// conn is both ends of one simulated connection: the client's end is the net.Conn, the server's end
// is a session of a node; between them lie the requests and replies that the scheduler has not
// released. Nothing moves by itself, except the handshakes of Redis clients, which do not matter to
// locks.
//
// world.mu guards all fields: the client's goroutines read and write, the driver moves bytes.
type conn struct {
	world   *world
	client  *client
	node    int    // index of the address that was dialled
	number  uint64 // from client, node, and how many connections that client had to that node before
	server  *node  // the server that answered the dial
	session *fakeredis.Session
	frames  resp.Requests

	requests []*request // sent, not yet at the server
	replies  []*reply   // not yet at the client
	parked   *request   // at the server, which will answer later (WAIT, BLPOP)
	arrived  []byte     // at the client, not yet read

	opened  bool  // a command was sent that is not a handshake
	shut    bool  // closed by the client
	lost    error // why the connection broke; read once arrived is empty
	readBy  time.Time
	writeBy time.Time
	waiting bool          // a reader waits for bytes
	expires time.Time     // when it gives up; zero means never
	changed chan struct{} // cap 1: signals a change to a waiting reader
	alias   int           // of its requests in the record
	inUse   int           // requests without a reply; while there are any, the alias is taken
	last    uint64        // hash of the last request
	history uint64        // hash of the requests that the node received over it; see state
	watches bool          // the node watches keys for it
	seen    int           // number of the primary's writes at the connection's last command

	sentUntil, givenUntil time.Time // when a limited connection has passed what is on it, each way
}

var (
	_ net.Conn       = (*conn)(nil)
	_ fakeredis.Peer = (*conn)(nil)
)

// request is one command on its way.
type request struct {
	conn    *conn
	name    string
	args    []string
	op      faults.Operation // for which it was sent
	sent    int64            // on the timeline
	ready   int              // the step at which it became pending
	held    time.Time
	command int // index into the client's commands
	noted   int // its step in the schedule; 0 = none

	batch     *batch // nil for a request that was sent alone
	handshake bool   // a handshake, which is not an event
	withheld  bool   // the client was stopped before it left
	kept      bool   // held back until a fault ends
	doomed    bool   // it will be lost

	reply string // as text, if the request changed data

	answer   func(force bool) ([]byte, bool) // of a parked request
	parkedAt int64                           // on the timeline
	upTo     int                             // the write that a WAIT waits for
}

// reply is the reply to a request, or a message to a subscriber, whose request is nil.
type reply struct {
	conn    *conn
	request *request
	nth     int // of a message to a subscriber: its number among those that the client has had from the node
	bytes   []byte
	ready   int
	held    time.Time
	kept    bool // held back until a fault ends
	lost    bool // a fault has lost it
}

// String identifies a connection by client and node.
func (cn *conn) String() string {
	if cn.node == cn.world.storeIndex() {
		return cn.client.name + "-store"
	}
	return cn.client.name + "-" + nodeName(cn.node)
}

// Write accepts requests. It never blocks: a slow network delays delivery, not acceptance.
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
	cn.last = hashArgs(args)
	args[0] = strings.ToUpper(args[0])
	q := &request{conn: cn, name: args[0], args: args}
	if cn.opens(q.name) {
		q.handshake = true
		cn.requests = append(cn.requests, q)
		cn.answerHandshakes()
		return
	}
	cn.world.enqueue(q)
}

// opens reports whether a command is a handshake. Handshakes are not events, because the client's
// pool decides how many there are. They are answered as soon as the node can be reached, in order
// with the connection's other requests. When a tape is replayed, so are the commands before the
// connection's first command with a name that the tape knows.
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
		all.Write(r.Arg(i)) // a Builder accepts any input
	}
	args, text := make([]string, r.Len()), all.String()
	for i := range args {
		n := len(r.Arg(i))
		args[i], text = text[:n], text[n:]
	}
	return args
}

// Read waits for bytes, the end of the connection or the deadline. Bytes that have arrived take
// precedence over a deadline that has passed: a stopped client later finds in its socket what came
// meanwhile.
func (cn *conn) Read(b []byte) (int, error) {
	for {
		n, err := cn.take(b)
		if n > 0 || err != nil {
			return n, err
		}
		<-cn.changed
	}
}

// take reads without waiting. If there is nothing to read, the driver signals a change, or the
// deadline.
func (cn *conn) take(b []byte) (n int, err error) {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	switch {
	case cn.client.crashed:
		return 0, cn.opError("read", impls.ErrCrashed)
	case cn.shut:
		return 0, cn.opError("read", net.ErrClosed)
	case len(cn.arrived) > 0:
		n = copy(b, cn.arrived)
		cn.arrived = slices.Delete(cn.arrived, 0, n)
		return n, nil
	case cn.lost != nil:
		return 0, cn.lost
	case cn.readBy.IsZero(), cn.client.paused:
		cn.waiting, cn.expires = true, time.Time{}
		return 0, nil
	}
	cn.expires = cn.readBy.Add(lateness(cn.client.index, cn.node, cn.last))
	if !cn.expires.After(time.Now()) {
		return 0, cn.opError("read", os.ErrDeadlineExceeded)
	}
	cn.waiting = true
	cn.world.expect(cn.expires)
	return 0, nil
}

// unusable returns the error of a connection that cannot be written to any more.
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

// Close closes the client's end. What was sent is still delivered; what comes back is dropped.
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
	cn.server.Forget(cn)
	cn.wake()
	return nil
}

// wake makes a waiting reader check again.
func (cn *conn) wake() {
	if cn.waiting {
		cn.waiting = false
		signal(cn.changed)
	}
}

// expireReads wakes the readers whose deadline has come, and expects the next.
func (w *world) expireReads(now time.Time) {
	for _, cn := range w.conns {
		switch {
		case !cn.waiting || cn.expires.IsZero():
		case cn.expires.After(now):
			w.expect(cn.expires)
		default:
			cn.wake()
		}
	}
}

// arrive passes bytes to the reader.
func (cn *conn) arrive(b []byte) {
	if cn.shut {
		return
	}
	cn.arrived = append(cn.arrived, b...)
	cn.wake()
}

// fail breaks the connection from the network's side. Replies on their way are dropped.
func (cn *conn) fail(err error) {
	if cn.lost == nil {
		cn.lost = cn.opError("read", err)
		cn.client.observe(cn.place(), mixText(cn.history, err.Error()))
	}
	cn.replies, cn.parked = nil, nil
	cn.server.Forget(cn)
	cn.wake()
}

// Publish queues a message to a subscriber.
func (cn *conn) Publish(words ...string) {
	if cn.shut || cn.lost != nil {
		return
	}
	cn.client.messages[cn.node]++
	cn.world.enqueueReply(&reply{conn: cn, nth: cn.client.messages[cn.node], bytes: fakeredis.Push(cn.session.Resp3(), words)})
}

// LocalAddr returns an invented address.
func (cn *conn) LocalAddr() net.Addr { return simAddr("10.0.0." + cn.client.name[1:] + ":1") }

func (cn *conn) RemoteAddr() net.Addr { return simAddr(nodeAddr(cn.node)) }

func (cn *conn) SetDeadline(t time.Time) error {
	return errors.Join(cn.SetWriteDeadline(t), cn.SetReadDeadline(t))
}

// SetReadDeadline sets when a waiting Read gives up.
func (cn *conn) SetReadDeadline(t time.Time) error {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	cn.readBy = t
	cn.wake()
	return nil
}

// SetWriteDeadline sets when a request is dropped that could not be sent because the client was
// stopped. Otherwise Write never waits.
func (cn *conn) SetWriteDeadline(t time.Time) error {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	cn.writeBy = t
	return nil
}

// giveUp drops the requests of a stopped client whose deadline has passed, as a socket would refuse
// them.
func (cn *conn) giveUp(now time.Time) {
	if cn.writeBy.IsZero() || now.Before(cn.writeBy) {
		return
	}
	cn.requests = slices.DeleteFunc(cn.requests, func(q *request) bool { return q.withheld })
}

type simAddr string

func (simAddr) Network() string  { return "sim" }
func (a simAddr) String() string { return string(a) }

// The error of a broken connection at the client: the network cut it, or the node is gone.
const errCut = syscall.ECONNRESET

var errGone = io.EOF
