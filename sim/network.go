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

var (
	_ net.Conn       = (*conn)(nil)
	_ fakeredis.Peer = (*conn)(nil)
)

// Write accepts requests. It never blocks: a slow network delays delivery, not acceptance.
func (cn *conn) Write(b []byte) (int, error) {
	cn.world.mu.Lock()
	defer cn.world.mu.Unlock()
	switch {
	case cn.client.crashed:
		return 0, cn.opError("write", impls.ErrCrashed)
	case cn.shut:
		return 0, cn.opError("write", net.ErrClosed)
	case cn.lost != nil:
		return 0, cn.opError("write", syscall.EPIPE)
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
	// Handshakes are not events, because the client's pool decides how many there are. They are
	// answered as soon as the node can be reached, in order with the connection's other requests. When
	// a tape is replayed, so are the commands before the connection's first command with a name that
	// the tape knows.
	q.handshake = upstream.Handshake(q.name)
	if f, replays := cn.world.strategy.(*follow); replays && !cn.opened && f.commands != nil {
		q.handshake = q.handshake || !slices.Contains(f.commands, q.name)
	}
	if q.handshake {
		cn.requests = append(cn.requests, q)
		cn.answerHandshakes()
		return
	}
	cn.opened = true
	w, c := cn.world, cn.client
	c.sent++
	q.op, q.sent, q.ready = w.director.Plan().Operation(c.index+1, cn.target() < 0), w.timeline(), w.step
	q.command = len(c.commands)
	c.commands = append(c.commands, commandOf(q))
	cn.requests = append(cn.requests, q)
	q.withheld = c.paused
	size := 0 // about, on the wire, in bytes
	for _, a := range q.args {
		size += len(a) + len("$00\r\n\r\n")
	}
	q.held = w.onItsWay(size, &cn.sentUntil)
	w.fresh = append(w.fresh, q)
	w.wakeDriver()
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

// The error of a broken connection at the client: the network cut it, or the node is gone.
const errCut = syscall.ECONNRESET

var errGone = io.EOF

// enqueueReply makes a reply or a message an event. The driver calls it.
func (w *world) enqueueReply(r *reply) {
	r.ready = w.step
	r.held = w.onItsWay(len(r.bytes), &r.conn.givenUntil)
	r.conn.replies = append(r.conn.replies, r)
}

// onItsWay returns when a message arrives at the earliest, and schedules a check then; zero if the
// network is not slow. The link is idle from free.
func (w *world) onItsWay(bytes int, free *time.Time) (held time.Time) {
	if w.slow == (slowness{}) {
		return held
	}
	now := w.clock()
	held = now.Add(w.slow.delay)
	if w.slow.rate > 0 {
		if free.Before(now) {
			*free = now
		}
		*free = free.Add(time.Duration(float64(bytes) / w.slow.rate * float64(time.Second)))
		if free.After(held) {
			held = *free
		}
	}
	w.after(held.Sub(now), func() {})
	return held
}

// takeFirst removes the first item of a queue and moves the others up: queues are short, and
// reslicing would allocate for every message.
func takeFirst[T any](queue *[]T) T {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

// free reports whether nothing holds the reply back.
func (r *reply) free() bool { return !r.kept && r.conn.world.arrivesBy(r.held) }

// arrivesBy reports whether a message that is held until an instant, if any, may arrive.
func (w *world) arrivesBy(held time.Time) bool { return held.IsZero() || !held.After(w.clock()) }

// canReach reports whether a request on the connection can be delivered now. Requests of a stopped
// client left before it stopped.
func (w *world) canReach(cn *conn) bool {
	return cn.lost == nil && !cn.server.paused && !cn.server.down && cn.parked == nil && w.reachable(cn)
}

// canAnswer reports whether a reply on the connection can be delivered now.
func (w *world) canAnswer(cn *conn) bool {
	return cn.lost == nil && !cn.client.paused && w.reachable(cn)
}

// reachable reports whether the network connects the two ends of a connection.
func (w *world) reachable(cn *conn) bool {
	return !w.cut[cutKey{cn.client.index, cn.server.index}]
}

func (w *world) cutConn(cn *conn) {
	cn.requests = nil
	cn.fail(errCut)
}

// answerHandshakes answers the handshakes of a connection whose turn has come; it reports whether
// the client received something.
func (cn *conn) answerHandshakes() (did bool) {
	w := cn.world
	for len(cn.requests) > 0 && cn.requests[0].handshake && w.canReach(cn) {
		q := takeFirst(&cn.requests)
		answer := w.perform(cn, q.args)
		w.ran(q, answer)
		cn.seen = cn.server.writes
		if len(cn.replies) == 0 && q.batch == nil && w.canAnswer(cn) {
			cn.client.observe(cn.place(), mixText(hashArgs(q.args), answer))
			cn.arrive(answer)
			did = true
			continue
		}
		cn.replies = append(cn.replies, &reply{conn: cn, request: q, bytes: slices.Clone(answer)})
	}
	for len(cn.replies) > 0 && cn.replies[0].ofHandshake() && w.canAnswer(cn) {
		cn.giveReply(takeFirst(&cn.replies))
		did = true
	}
	return did
}

func (r *reply) ofHandshake() bool { return r.request != nil && r.request.handshake }

// giveReply delivers a reply to the client, with the replies of its batch once the batch is
// complete.
func (cn *conn) giveReply(r *reply) {
	whole := []*reply{r}
	if r.request != nil && r.request.batch != nil {
		b := r.request.batch
		b.replies[slices.Index(b.written, r.request)] = r
		if slices.Contains(b.replies, nil) {
			return
		}
		whole = b.replies
	}
	for _, r := range whole {
		asked := uint64(0) // hash of the request; none for a message to a subscriber
		if r.request != nil {
			asked = hashArgs(r.request.args)
		}
		cn.client.observe(cn.place(), mix(asked, mixText(hashStart, r.bytes)))
		if r.request != nil && !r.request.handshake {
			if !faults.Subscribes(r.request.name) { // or else it is never idle again
				cn.inUse--
			}
			c := &cn.client.commands[r.request.command]
			c.Replied, c.Reply = cn.world.timeline(), r.request.reply
			if c.Reply == "" {
				c.Reply = replyText(r.bytes)
			}
		}
		if cn.client.tokens != nil {
			cn.arrive(cn.client.tokens.restore(r.bytes))
			continue
		}
		cn.arrive(r.bytes)
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

// wake makes a waiting reader check again.
func (cn *conn) wake() {
	if cn.waiting {
		cn.waiting = false
		signal(cn.changed)
	}
}
