package faults

import (
	"net"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// passage is one connection through the proxy. Two goroutines carry it: one the requests, one the replies; they share what
// mu protects, and either one's end is the end of both.
type passage struct {
	link         *Link
	id           uint64
	client, node net.Conn
	gone         chan struct{} // closed when the passage has ended
	once         sync.Once

	mu    sync.Mutex // protects pairs
	pairs resp.Pairing[asked]
}

// asked is what is remembered of a request until it is answered.
type asked struct {
	phase Phase
	write bool
	rules []*rule         // those that its reply may be struck by
	turn  int             // the step of a score that it was; 0 = none
	cmd   history.Command // filled in when somebody records
}

// lane is one direction of a passage.
type lane struct {
	*passage
	way  direction
	to   net.Conn
	out  []byte    // frames to be written together
	at   time.Time // when they arrived; zero when nobody asks
	free time.Time // when the limited link has passed what was written
}

const passageBuffer = 16 << 10

func newPassage(l *Link, client, node net.Conn) *passage {
	return &passage{link: l, id: l.proxy.last.Add(1), client: client, node: node, gone: make(chan struct{})}
}

// end closes both connections and records what was never answered.
func (c *passage) end() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.client.Close() // whoever reads or writes finds out
		_ = c.node.Close()
		c.link.leave(c)
		c.mu.Lock()
		defer c.mu.Unlock()
		for a := c.pairs.Abandon(); a != nil; a = c.pairs.Abandon() {
			c.record(a.cmd)
		}
	})
}

func (c *passage) record(cmd history.Command) {
	if c.link.proxy.cfg.Record != nil {
		c.link.proxy.cfg.Record(cmd)
	}
}

func (c *passage) subscribes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pairs.Subscribes()
}

// carryRequests carries what the client sends, until either side ends.
func (c *passage) carryRequests() {
	defer c.end()
	var in resp.Requests
	lane := &lane{passage: c, way: toNode, to: c.node}
	buf := make([]byte, passageBuffer)
	for {
		n, err := c.client.Read(buf)
		lane.arrive()
		in.Feed(buf[:n])
		for req, ok := in.Next(); ok; req, ok = in.Next() {
			if !lane.request(req) {
				return
			}
		}
		if err != nil {
			lane.out = append(lane.out, in.Rest()...)
		}
		if !lane.flush() || err != nil {
			return
		}
	}
}

// carryReplies carries what the node sends, until either side ends.
func (c *passage) carryReplies() {
	defer c.end()
	var in resp.Replies
	lane := &lane{passage: c, way: toClient, to: c.client}
	buf := make([]byte, passageBuffer)
	for {
		n, err := c.node.Read(buf)
		lane.arrive()
		in.Feed(buf[:n])
		for reply, ok := in.Next(); ok; reply, ok = in.Next() {
			if !lane.reply(reply) {
				return
			}
		}
		if err != nil {
			lane.out = append(lane.out, in.Rest()...)
		}
		if !lane.flush() || err != nil {
			return
		}
	}
}

// request does to one request what the rules ask, and queues it; false when the passage is to end.
func (l *lane) request(req resp.Request) bool {
	turn, pass := l.requestTurn(req)
	if !pass {
		return false
	}
	rules := *l.link.rules.Load()
	var phase Phase
	if len(rules) > 0 && l.link.Phase != nil {
		phase = l.link.Phase()
	}
	for _, r := range due(rules, func(r *rule) bool { return r.Request != "" && r.fits(req, phase) }) {
		cmd := l.command(req)
		if pass, live := l.strike(r, cmd); !pass {
			l.record(cmd)
			return live
		}
	}
	l.expect(req, rules, phase, turn)
	l.out = append(l.out, req.Raw...)
	return turn == 0 || l.flush()
}

// expect notes a request before it is written, so that its reply cannot come first.
func (l *lane) expect(req resp.Request, rules []*rule, phase Phase, turn int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.pairs.Expect(req)
	if a == nil {
		return
	}
	a.phase, a.write, a.rules, a.turn = phase, req.IsWrite(), nil, turn
	for _, r := range rules {
		if r.Reply != "" && r.fits(req, phase) {
			a.rules = append(a.rules, r)
		}
	}
	if l.link.proxy.cfg.Record != nil || len(a.rules) > 0 || turn > 0 {
		a.cmd = l.command(req)
		a.cmd.Sent = l.link.proxy.cfg.Timeline()
	}
}

func (l *lane) command(req resp.Request) history.Command {
	cmd := CommandFrom(req)
	cmd.Client, cmd.Node, cmd.Conn = l.link.Client, l.link.Node, l.id
	if name, ok := l.link.proxy.cfg.Names[string(req.Arg(1))]; ok && cmd.Name == "EVALSHA" {
		cmd.Args[0] = name
	}
	return cmd
}

// reply does to one reply what the rules ask, and queues it; false when the passage is to end.
func (l *lane) reply(reply resp.Reply) bool {
	a, known := l.answered(reply)
	if known && a.turn > 0 {
		return l.replyTurn(a, reply)
	}
	if !known || len(a.rules) == 0 && l.link.proxy.cfg.Record == nil {
		l.out = append(l.out, reply.Raw...)
		return true
	}
	a.cmd.Reply = ReplyLine(reply)
	for _, r := range due(a.rules, func(r *rule) bool { return r.on.MatchesReply(a.phase, &a.cmd, a.write, r.NilGrants) }) {
		if pass, live := l.strike(r, a.cmd); !pass {
			a.cmd.Reply = ""
			l.record(a.cmd)
			return live
		}
	}
	a.cmd.Replied = l.link.proxy.cfg.Timeline()
	l.record(a.cmd)
	l.out = append(l.out, reply.Raw...)
	return true
}

// answered gives the request whose last reply this is.
func (l *lane) answered(reply resp.Reply) (asked, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, last := l.pairs.Answer(reply)
	if a == nil || !last {
		return asked{}, false
	}
	return *a, true
}

// strike applies a rule: whether the frame passes, and whether the connection lives.
func (l *lane) strike(r *rule, cmd history.Command) (pass, live bool) {
	s := Strike{Client: l.link.Client, Node: l.link.Node, Command: cmd, Start: l.link.proxy.cfg.Timeline()}
	if !l.flush() { // what came before it is not concerned
		return false, false
	}
	switch r.Do {
	case Hold:
		r.Wait(l.gone)
		pass, live = true, true
	case Drop:
		live = true
	case Cut:
		l.end()
	}
	s.End = l.link.proxy.cfg.Timeline()
	if r.Struck != nil {
		r.Struck(s)
	}
	return pass, live
}

// arrive notes when bytes came, where a condition will ask.
func (l *lane) arrive() {
	if s := l.link.state.Load(); s.delay > 0 || s.rate > 0 {
		l.at = time.Now()
	}
}

// flush writes what is queued, once no condition stands in its way; false when the passage has ended.
func (l *lane) flush() bool {
	if len(l.out) == 0 {
		return true
	}
	if !l.clear() {
		return false
	}
	defer l.link.passing.Add(-1)
	_, err := l.to.Write(l.out)
	l.out = l.out[:0]
	if cap(l.out) > maxIdleLane {
		l.out = nil
	}
	return err == nil
}

// maxIdleLane is how much storage a direction keeps after a large frame.
const maxIdleLane = 1 << 20

// clear waits until what is queued may be written, and counts it as passing; false when the passage has ended.
func (l *lane) clear() bool {
	for {
		l.link.passing.Add(1)
		s := l.link.state.Load()
		if !s.blocked[l.way] && s.delay == 0 && s.rate == 0 {
			return true
		}
		if !s.blocked[l.way] && l.due(s) <= 0 {
			return true
		}
		l.link.passing.Add(-1)
		if !l.wait(s) {
			return false
		}
	}
}

// due is how long the queue has to wait for its delay and its share of the link.
func (l *lane) due(s *linkState) time.Duration {
	now := time.Now()
	if l.at.IsZero() {
		l.at = now
	}
	ready := l.at.Add(s.delay)
	if s.rate > 0 {
		if l.free.Before(l.at) {
			l.free = l.at
		}
		if done := l.free.Add(time.Duration(float64(len(l.out)) / s.rate * float64(time.Second))); done.After(ready) {
			ready = done
		}
	}
	if ready.After(now) {
		return ready.Sub(now)
	}
	l.at, l.free = time.Time{}, ready
	return 0
}

// wait waits for the queue's time, or for the conditions to change.
func (l *lane) wait(s *linkState) bool {
	var timer <-chan time.Time
	if !s.blocked[l.way] {
		t := time.NewTimer(l.due(s))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-s.changed:
	case <-l.gone:
		return false
	}
	return true
}
