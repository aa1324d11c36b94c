package inject

import (
	"net"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/resp"
)

// connection is one connection through the proxy. Two goroutines carry it, one for requests and one for replies; they share the fields that mu
// guards. When either ends, both end.
type connection struct {
	link         *Link
	id           uint64
	client, node net.Conn
	gone         chan struct{} // closed when the connection has ended
	once         sync.Once

	mu    sync.Mutex // guards pairs
	pairs resp.Pairing[*Message]
}

// direction is one direction of a connection.
type direction struct {
	*connection
	way  way
	to   net.Conn
	out  []byte    // frames to be written together
	at   time.Time // when they arrived
	free time.Time // when the limited link has passed what was written
}

const readBuffer = 16 << 10

func newConnection(l *Link, client, node net.Conn) *connection {
	return &connection{link: l, id: l.proxy.last.Add(1), client: client, node: node, gone: make(chan struct{})}
}

// end closes both sides.
func (c *connection) end() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.client.Close() // unblocks the goroutines that read or write
		_ = c.node.Close()
		c.link.leave(c)
	})
}

func (c *connection) subscribes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pairs.Subscribes()
}

// carryRequests forwards what the client sends, until either side ends.
func (c *connection) carryRequests() {
	defer c.end()
	var in resp.Requests
	d := &direction{connection: c, way: toNode, to: c.node}
	buf := make([]byte, readBuffer)
	for {
		n, err := c.client.Read(buf)
		d.arrive()
		in.Feed(buf[:n])
		for req, ok := in.Next(); ok; req, ok = in.Next() {
			if !d.request(req) {
				return
			}
		}
		if err != nil {
			d.out = append(d.out, in.Rest()...)
		}
		if !d.flush() || err != nil {
			return
		}
	}
}

// carryReplies forwards what the node sends, until either side ends.
func (c *connection) carryReplies() {
	defer c.end()
	var in resp.Replies
	d := &direction{connection: c, way: toClient, to: c.client}
	buf := make([]byte, readBuffer)
	for {
		n, err := c.node.Read(buf)
		d.arrive()
		in.Feed(buf[:n])
		for reply, ok := in.Next(); ok; reply, ok = in.Next() {
			if !d.reply(reply) {
				return
			}
		}
		if err != nil {
			d.out = append(d.out, in.Rest()...)
		}
		if !d.flush() || err != nil {
			return
		}
	}
}

// request lets the proxy's Traffic decide about a request, and queues it; it returns false if the connection must end.
func (d *direction) request(req resp.Request) bool {
	if d.link.state.Load().noSubscribers && subscribing[req.Name()] {
		d.end()
		return false
	}
	var m *Message
	if t := d.link.proxy.cfg.Traffic; t != nil {
		if !d.flush() { // earlier requests must not wait with it
			return false
		}
		if m = d.message(req); !t.Request(m) {
			d.end()
			return false
		}
	}
	d.expect(req, m)
	d.out = append(d.out, req.Raw...)
	return m == nil || d.flush()
}

// subscribing lists the commands with which a connection begins to subscribe.
var subscribing = map[string]bool{"SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true}

// expect registers a request before it is written, so that its reply cannot arrive first.
func (d *direction) expect(req resp.Request, m *Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.pairs.Expect(req); at != nil {
		*at = m
	}
}

func (d *direction) message(req resp.Request) *Message {
	cmd := commandFrom(req)
	cmd.Client, cmd.Node, cmd.Conn = faults.ClientName(d.link.Client), d.link.Node, d.id
	if name, ok := d.link.proxy.cfg.Names[string(req.Arg(1))]; ok && cmd.Name == "EVALSHA" {
		cmd.Args[0] = name
	}
	return &Message{Command: cmd, Write: req.IsWrite(), Label: label(req, d.link.proxy.cfg.Names), client: d.link.Client, gone: d.gone}
}

// reply lets the proxy's Traffic decide about the last reply to a request, and queues it; it returns false if the connection must end.
func (d *direction) reply(reply resp.Reply) bool {
	if m := d.answered(reply); m != nil {
		m.Command.Reply = replyLine(reply)
		if !d.flush() {
			return false
		}
		if !d.link.proxy.cfg.Traffic.Reply(m) {
			d.end()
			return false
		}
		d.out = append(d.out, reply.Raw...)
		return d.flush()
	}
	d.out = append(d.out, reply.Raw...)
	return true
}

// answered returns the request whose last reply this is; nil if there is none or no Traffic wants it.
func (d *direction) answered(reply resp.Reply) *Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, last := d.pairs.Answer(reply); m != nil && last {
		return *m
	}
	return nil
}

// arrive records when bytes arrived: the messages in them are delayed together.
func (d *direction) arrive() { d.at = time.Now() }

// flush writes the queue once no condition blocks it; it returns false if the connection has ended.
func (d *direction) flush() bool {
	if len(d.out) == 0 {
		return true
	}
	if !d.clear() {
		return false
	}
	defer d.link.passing.Add(-1)
	_, err := d.to.Write(d.out)
	d.out = d.out[:0]
	if cap(d.out) > maxIdleBuffer {
		d.out = nil
	}
	return err == nil
}

// maxIdleBuffer is the largest buffer, in bytes, that a direction keeps after a large frame.
const maxIdleBuffer = 1 << 20

// clear waits until the queue may be written, and counts the write as passing; it returns false if the connection has ended.
func (d *direction) clear() bool {
	for {
		d.link.passing.Add(1)
		s := d.link.state.Load()
		if !s.blocked[d.way] && s.delay == 0 && s.rate == 0 {
			return true
		}
		if !s.blocked[d.way] && d.due(s) <= 0 {
			return true
		}
		d.link.passing.Add(-1)
		if !d.wait(s) {
			return false
		}
	}
}

// due returns how long the queue must still wait for its delay and its share of the bandwidth.
func (d *direction) due(s *linkState) time.Duration {
	now := time.Now()
	ready := d.at.Add(s.delay)
	if s.rate > 0 {
		if d.free.Before(d.at) {
			d.free = d.at
		}
		if done := d.free.Add(time.Duration(float64(len(d.out)) / s.rate * float64(time.Second))); done.After(ready) {
			ready = done
		}
	}
	if ready.After(now) {
		return ready.Sub(now)
	}
	d.free = ready
	return 0
}

// wait waits until the queue is due or the conditions change; it returns false if the connection has ended.
func (d *direction) wait(s *linkState) bool {
	var timer <-chan time.Time
	if !s.blocked[d.way] {
		t := time.NewTimer(d.due(s))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-s.changed:
	case <-d.gone:
		return false
	}
	return true
}
