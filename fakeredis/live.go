package fakeredis

import (
	"bytes"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Live is a node that serves connections by itself, in the order in which requests come, by the
// clock of the machine or of the testing/synctest bubble in which it was made. Of the clients that
// wait for data, the one that has waited longest is served first. It also executes what miniredis
// knows and nobody has compared with Redis. Its methods may be called by several goroutines.
type Live struct {
	mu      sync.Mutex
	node    *Node
	conns   []*liveConn
	waiting []*liveConn // whose first request waits, the longest waiting first
	failure string      // that every command meets; "" for none
	serving sync.WaitGroup
}

// NewLive returns an empty server, which the caller closes. An error is miniredis'.
func NewLive() (*Live, error) {
	n, err := NewNode()
	if err != nil {
		return nil, err
	}
	n.Reset(time.Now())
	n.serves = true
	n.lua.openJSON()
	return &Live{node: n}, nil
}

// Close ends all connections, waits for their goroutines, and ends the server.
func (l *Live) Close() {
	l.mu.Lock()
	for _, c := range slices.Clone(l.conns) {
		c.end()
	}
	l.mu.Unlock()
	l.serving.Wait()
	l.node.Close()
}

// Dial connects to the server.
func (l *Live) Dial() net.Conn {
	theirs, ours := net.Pipe()
	c := &liveConn{live: l, conn: ours, filled: sync.NewCond(&l.mu)}
	c.session = l.node.NewSession(c)
	l.mu.Lock()
	l.conns = append(l.conns, c)
	l.mu.Unlock()
	l.serving.Go(c.read)
	l.serving.Go(c.write)
	return theirs
}

// Fail answers every later command with an error; "" ends that.
func (l *Live) Fail(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = text
}

// Do runs a command outside every connection, and returns its reply as one line.
func (l *Live) Do(args ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	r, _ := resp.ParseReply(l.node.Execute(l.node.NewSession(nil), args, now))
	line := r.Line(history.MaxReply)
	l.serve(now)
	return line
}

// Jump moves the server's clock.
func (l *Live) Jump(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node.Jump(time.Now(), by)
}

// Left returns how long each key lasts; 0 is for ever.
func (l *Live) Left() map[string]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node.Tick(time.Now())
	db := l.node.redis.DB(0)
	left := map[string]time.Duration{}
	for _, key := range db.Keys() {
		left[key] = db.TTL(key)
	}
	return left
}

// Refused returns a command that the server was sent and does not have, or does not execute as
// Redis does; "" for none.
func (l *Live) Refused() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node.refused
}

// liveConn is a connection. The mutex of the server guards it.
type liveConn struct {
	live     *Live
	conn     net.Conn
	session  *Session
	requests [][]string  // to execute, oldest first
	parked   bool        // the first waits for data, or for replicas
	timeout  *time.Timer // of that; nil: it waits for ever
	out      []byte      // to send
	filled   *sync.Cond  // signals that there is something to send, or that the connection has ended
	ended    bool
}

var _ Peer = (*liveConn)(nil)

// read takes requests from the connection until it ends.
func (c *liveConn) read() {
	var frames resp.Requests
	buf := make([]byte, 1<<10)
	for {
		n, err := c.conn.Read(buf)
		frames.Feed(buf[:n])
		c.live.mu.Lock()
		for r, ok := frames.Next(); ok && err == nil; r, ok = frames.Next() {
			if r.Opaque() || r.Len() == 0 {
				err = net.ErrClosed
				break
			}
			args := make([]string, r.Len())
			for i := range args {
				args[i] = string(r.Arg(i))
			}
			c.requests = append(c.requests, upper(strings.ToUpper(args[0]), args))
		}
		c.advance()
		if err != nil {
			c.end()
		}
		c.live.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// write sends what there is to send until the connection ends.
func (c *liveConn) write() {
	for {
		c.live.mu.Lock()
		for len(c.out) == 0 && !c.ended {
			c.filled.Wait()
		}
		out := c.out
		c.out = nil
		c.live.mu.Unlock()
		if len(out) == 0 {
			break
		}
		if _, err := c.conn.Write(out); err != nil {
			break
		}
	}
	_ = c.conn.Close() // a reader that waits returns
}

// advance executes the requests in order, up to one that waits.
func (c *liveConn) advance() {
	for len(c.requests) > 0 && !c.parked && !c.ended {
		reply, waits, most := c.live.execute(c, c.requests[0])
		if !waits {
			c.answer(reply)
			continue
		}
		l := c.live
		c.parked = true
		l.waiting = append(l.waiting, c)
		if most == 0 {
			return
		}
		var over *time.Timer
		over = time.AfterFunc(most, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if c.timeout == over {
				c.unpark(reply)
			}
		})
		c.timeout = over
	}
}

// answer replies to the first request.
func (c *liveConn) answer(reply []byte) {
	quits := c.requests[0][0] == "QUIT"
	c.requests = c.requests[1:]
	c.send(reply)
	if quits {
		c.end()
	}
}

func (c *liveConn) send(b []byte) {
	c.out = append(c.out, b...)
	c.filled.Signal()
}

// unpark answers the first request, which has waited, and goes on with those behind it.
func (c *liveConn) unpark(reply []byte) {
	c.leave()
	c.answer(reply)
	c.advance()
}

// leave ends the wait of the first request, if it waits.
func (c *liveConn) leave() {
	if c.timeout != nil {
		c.timeout.Stop()
	}
	c.parked, c.timeout = false, nil
	c.live.waiting = slices.DeleteFunc(c.live.waiting, func(o *liveConn) bool { return o == c })
}

// end ends the connection, once it has sent what there is to send.
func (c *liveConn) end() {
	if c.ended {
		return
	}
	c.ended = true
	c.leave()
	c.live.conns = slices.DeleteFunc(c.live.conns, func(o *liveConn) bool { return o == c })
	c.live.node.Forget(c)
	c.filled.Signal()
}

// Publish sends a message of a subscription.
func (c *liveConn) Publish(words ...string) { c.send(Push(c.session.Resp3(), words)) }

// Replicas returns 0: the server has none.
func (c *liveConn) Replicas() int { return 0 }

// execute runs a request, and what waits for its effect. If the request has to wait itself, it
// returns for how long, 0 for ever, and the reply after that.
func (l *Live) execute(c *liveConn, args []string) (reply []byte, waits bool, most time.Duration) {
	name, now := args[0], time.Now()
	switch {
	case l.failure != "":
		return failure(l.failure), false, 0
	case !Blocks(name) && name != "WAIT", c.session.InTransaction():
		reply = slices.Clone(l.node.Execute(c.session, args, now))
		// a library that asks for CLIENT SETINFO and the like goes on without
		if bytes.HasPrefix(reply, []byte("-ERR unknown command")) && resp.Words(name) != 0 && !containers[name] {
			l.node.refused = name
		}
		l.serve(now)
		return reply, false, 0
	}
	most, replicas, refusal := l.node.Waits(args)
	switch {
	case refusal != nil:
		return refusal, false, 0
	case name == "WAIT":
		return []byte(":0\r\n"), replicas > 0, most
	}
	reply, there := l.node.Take(c.session, args, now)
	if there {
		l.serve(now)
	}
	return reply, !there, most
}

// serve answers the requests that wait for data that are there now. While one waits, it ignores a
// key that gets another type. One reply may provide what another request waits for.
func (l *Live) serve(now time.Time) {
	for served := true; served; {
		served = false
		for _, c := range slices.Clone(l.waiting) {
			if !c.parked || c.requests[0][0] == "WAIT" {
				continue
			}
			reply, there := l.node.Take(c.session, c.requests[0], now)
			if there && reply[0] != '-' {
				c.unpark(reply)
				served = true
			}
		}
	}
}
