package faults

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Tap is told of every command of a client at the two instants at which a fault can be placed. It may stall the caller; an error
// ends the connection and reaches the client.
type Tap interface {
	// Request is called before a request leaves the client. Sent is not yet set.
	Request(cmd *history.Command, write bool) error
	// Reply is called when a reply has arrived and the client has not seen it. With an error the client never will, and Done
	// is not called: who kills a client there has recorded the command before.
	Reply(cmd *history.Command, write bool) error
	// Done is called when the client is about to see the reply, or when the connection ended without one (Replied is 0). The
	// arguments' storage is the caller's: they are copied or forgotten before Done returns.
	Done(cmd history.Command)
}

// Wire makes the connections of one client: each goes through the client's gate, and what passes is understood and told to the
// tap.
type Wire struct {
	Gate     *Gate
	Tap      Tap
	Timeline func() int64
	Names    map[string]string // of scripts, by digest
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	Node     func(addr string) int // which node an address is; -1 for the guarded store's own server

	mu   sync.Mutex // protects last
	last uint64
}

// Open dials an address.
func (w *Wire) Open(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := w.Gate.Pass(); err != nil {
		return nil, err
	}
	raw, err := w.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if !w.Gate.hold(raw) {
		raw.Close()
		return nil, w.Gate.Pass()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	return &wired{Conn: raw, wire: w, node: w.Node(addr), id: w.last}, nil
}

// wired is one connection of a client. One goroutine writes at a time and one reads at a time; the two share
// what mu protects.
type wired struct {
	net.Conn
	wire     *Wire
	node     int
	id       uint64
	requests resp.Requests       // the writer's
	before   map[string][]string // the writer's: the arguments last sent, by command
	replies  resp.Replies        // the reader's
	said     string              // the reader's: the last reply

	mu    sync.Mutex // protects what follows
	pairs resp.Pairing[*sent]
	idle  []*sent // to be used again: a client that waits for each reply needs one
}

// sent is a request under way. Its storage, the arguments' included, is used again once the tap was told that it is done.
type sent struct {
	cmd   history.Command
	write bool
}

// Write lets the requests in p pass one gate together: a pipeline is stalled or lost as a whole, as one packet would be.
func (c *wired) Write(p []byte) (int, error) {
	if err := c.wire.Gate.Pass(); err != nil {
		return 0, err
	}
	c.requests.Feed(p)
	for req, ok := c.requests.Next(); ok; req, ok = c.requests.Next() {
		if err := c.request(req); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

func (c *wired) request(req resp.Request) error {
	s := c.spare()
	c.describe(&s.cmd, req)
	s.write = req.IsWrite()
	if err := c.wire.Tap.Request(&s.cmd, s.write); err != nil {
		return err
	}
	s.cmd.Sent = c.wire.Timeline()
	c.expect(req, s)
	return nil
}

// expect notes a request before it is written, so that its reply cannot come first. One that the node was told not to answer leaves no record.
func (c *wired) expect(req resp.Request, s *sent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.pairs.Expect(req); at != nil {
		*at = s
	} else {
		c.idle = append(c.idle, s)
	}
}

func (c *wired) spare() *sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return new(sent)
	}
	s := c.idle[last]
	c.idle = c.idle[:last]
	return s
}

// describe makes the record of a request. Most of what a client sends it has sent before, so an argument that is the same as last
// time shares its string: recording must not cost the client its speed.
func (c *wired) describe(cmd *history.Command, req resp.Request) {
	*cmd = history.Command{Node: c.node, Conn: c.id, Name: req.Name(), Args: cmd.Args[:0]}
	before := c.before[cmd.Name]
	for i := range min(req.Len()-1, history.MaxArgs) {
		raw := req.Arg(i + 1)
		if name, ok := c.script(cmd.Name, i, raw); ok {
			cmd.Args = append(cmd.Args, name)
		} else if i < len(before) && before[i] == string(raw) {
			cmd.Args = append(cmd.Args, before[i])
		} else {
			cmd.Args = append(cmd.Args, resp.Text(raw, history.MaxArg))
		}
	}
	if c.before == nil {
		c.before = map[string][]string{}
	}
	if len(before) != len(cmd.Args) {
		c.before[cmd.Name] = slices.Clone(cmd.Args)
	} else {
		copy(before, cmd.Args)
	}
}

// script names the script of an EVALSHA by its digest and of an EVAL by its header, so that nobody has to read either.
func (c *wired) script(command string, arg int, raw []byte) (string, bool) {
	switch {
	case arg != 0:
		return "", false
	case command == "EVALSHA":
		name, ok := c.wire.Names[string(raw)]
		return name, ok
	case command == "EVAL":
		line, _, _ := bytes.Cut(raw, []byte("\n"))
		name, ok := bytes.CutPrefix(line, []byte("-- name: "))
		return string(name), ok
	}
	return "", false
}

// Read hands on what the server sent once every reply in it may be seen.
func (c *wired) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.replies.Feed(p[:n])
		for reply, ok := c.replies.Next(); ok; reply, ok = c.replies.Next() {
			if err := c.reply(reply); err != nil {
				return 0, err
			}
		}
	}
	if gone := c.wire.Gate.Pass(); gone != nil {
		return 0, gone
	}
	return n, err
}

func (c *wired) reply(r resp.Reply) error {
	s := c.answered(r)
	if s == nil {
		return nil
	}
	s.cmd.Reply = c.line(r)
	if err := c.wire.Tap.Reply(&s.cmd, s.write); err != nil {
		return err
	}
	s.cmd.Replied = c.wire.Timeline()
	c.wire.Tap.Done(s.cmd)
	c.mu.Lock()
	c.idle = append(c.idle, s)
	c.mu.Unlock()
	return nil
}

// line is the text of a reply; the same reply as last time shares its string.
func (c *wired) line(r resp.Reply) string {
	if short := r.Raw; len(short) > 3 && len(c.said)+3 == len(short) && (short[0] == ':' || short[0] == '+') && c.said == string(short[1:len(short)-2]) {
		return c.said
	}
	c.said = r.Line(history.MaxArg)
	return c.said
}

// answered gives the request whose last reply this is; nil when there is none.
func (c *wired) answered(r resp.Reply) *sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, last := c.pairs.Answer(r)
	if s == nil || !last {
		return nil
	}
	return *s
}

// abandoned takes the oldest request that was not answered; nil when there is none.
func (c *wired) abandoned() *sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.pairs.Abandon(); s != nil {
		return *s
	}
	return nil
}

// Close records what was never answered.
func (c *wired) Close() error {
	c.wire.Gate.forget(c.Conn)
	err := c.Conn.Close()
	for s := c.abandoned(); s != nil; s = c.abandoned() {
		c.wire.Tap.Done(s.cmd)
	}
	return err
}
