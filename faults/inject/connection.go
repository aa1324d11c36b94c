package inject

import (
	"cmp"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// connection is one connection through the proxy. A goroutine carries the requests and another the
// replies; when either ends, both end.
type connection struct {
	link         *Link
	client, node net.Conn
	gone         chan struct{} // closed when the connection has ended
	once         sync.Once
	pairs        resp.Pairing[*Message]
}

type direction struct {
	*connection
	to   net.Conn
	out  []byte    // frames to be written together
	at   time.Time // when they arrived: they are delayed together
	free time.Time // when the limited link has passed what was written
}

const readBuffer = 16 << 10

func (c *connection) end() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.client.Close() // unblocks the goroutines that read or write
		_ = c.node.Close()
		c.link.mu.Lock()
		defer c.link.mu.Unlock()
		delete(c.link.connections, c)
	})
}

// carry forwards what comes from one side, frame by frame, until either side ends. pass queues a
// frame, and returns false if the connection must end.
func carry[F any](d *direction, from net.Conn, in interface {
	Feed(p []byte)
	Next() (F, bool)
	Rest() []byte
}, pass func(*direction, F) bool,
) {
	defer d.end()
	buf := make([]byte, readBuffer)
	for {
		n, err := from.Read(buf)
		d.at = time.Now()
		in.Feed(buf[:n])
		for frame, ok := in.Next(); ok; frame, ok = in.Next() {
			if !pass(d, frame) {
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

// request lets the proxy's Traffic decide about a request, and queues it; it returns false if the
// connection must end.
func (d *direction) request(req resp.Request) bool {
	if d.link.state.Load().noSubscribers && faults.Subscribes(req.Name()) {
		d.end()
		return false
	}
	var m *Message
	if t := d.link.proxy.cfg.Traffic; t != nil && !d.link.Aside {
		if !d.flush() { // earlier requests must not wait with it
			return false
		}
		cmd := history.Command{Client: faults.ClientName(d.link.Client), Node: d.link.Node, Name: req.Name()}
		label := cmd.Name
		if strings.HasPrefix(label, "EVAL") { // a script goes by its name, or else its digest
			script := strings.ToLower(string(req.Arg(1)))
			if !strings.HasPrefix(label, "EVALSHA") {
				script = history.ScriptDigest(string(req.Arg(1)))
			}
			label += " " + cmp.Or(d.link.proxy.cfg.Names[script], script)
		}
		m = &Message{Command: cmd, Write: req.IsWrite(), Label: label, client: d.link.Client, gone: d.gone}
		if !t.Request(m) {
			d.end()
			return false
		}
	}
	d.pairs.Expect(req, m)
	d.out = append(d.out, req.Raw...)
	return m == nil || d.flush()
}

// reply lets the proxy's Traffic decide about the last reply to a request, and queues it; it
// returns false if the connection must end.
func (d *direction) reply(reply resp.Reply) bool {
	m, last := d.pairs.Answer(reply)
	decides := last && m != nil
	if decides {
		m.Command.Reply = reply.Line(history.MaxReply)
		if !d.flush() {
			return false
		}
		if !d.link.proxy.cfg.Traffic.Reply(m) {
			d.end()
			return false
		}
	}
	raw := reply.Raw
	if d.link.Rewrite != nil {
		raw = d.link.Rewrite(raw)
	}
	d.out = append(d.out, raw...)
	return !decides || d.flush()
}

// flush writes the queue once no condition blocks it; it returns false if the connection has ended.
// Its write counts as passing.
func (d *direction) flush() bool {
	if len(d.out) == 0 {
		return true
	}
	for {
		d.link.passing.Add(1)
		s := d.link.state.Load()
		if !s.blocked && (s.delay == 0 && s.rate == 0 || d.due(s) <= 0) {
			break
		}
		d.link.passing.Add(-1)
		var due <-chan time.Time
		if !s.blocked {
			due = time.After(d.due(s))
		}
		select {
		case <-due:
		case <-s.changed:
		case <-d.gone:
			return false
		}
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
