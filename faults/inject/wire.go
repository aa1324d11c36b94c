package inject

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Wire makes the connections of one client. Each passes through the client's gate; its traffic is parsed, passed to Watch and recorded.
type Wire struct {
	Gate     *Gate
	Client   int // from 1
	Timeline func() int64
	Names    map[string]string // of scripts, by digest
	// Source, when set, receives the source of each script that the client sends, at least once.
	Source func(history.Script)
	// First is the number of the client's first connection. The ranges of different clients must not overlap.
	First uint64
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Node  func(addr string) int // maps an address to its node; -1 for the guarded store's own server

	// Watch, when set, is called before each command leaves the client, and again when its reply has arrived but the client has not seen it. It may
	// block; an error ends the connection and is returned to the client.
	Watch func(e faults.Event) error
	// Operation returns the operation for which the client sends a request now; it is called only when Watch is set.
	Operation func(toStore bool) faults.Operation
	// Done is called for each command before the client sees the reply, or when the connection ended without one (Replied is 0). The storage of the
	// arguments belongs to the caller, so Done must copy what it keeps.
	Done func(cmd history.Command)

	mu   sync.Mutex // guards last
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
	return &wired{Conn: raw, wire: w, node: w.Node(addr), id: w.First + w.last}, nil
}

// wired is one connection of a client. At any time one goroutine writes and one reads; they share the fields that mu guards.
type wired struct {
	net.Conn
	wire     *Wire
	node     int
	id       uint64
	requests resp.Requests        // the writer's
	before   map[string]*previous // the writer's: the last of each command
	fresh    string               // the writer's: the last argument that differed from those, such as a token, which the release sends again
	digest   string               // the writer's: of the script last called by digest
	called   string               // the writer's: what is recorded for that digest
	digests  map[string]string    // the writer's: digests of the scripts sent, by source
	spare    *sent                // the writer's: for the next request
	replies  resp.Replies         // the reader's
	spent    *sent                // the reader's: done with the last reply

	mu    sync.Mutex // guards the fields below
	pairs resp.Pairing[*sent]
	idle  []*sent // for reuse: a client that waits for each reply needs two
}

// previous is what was last sent and received under the name of a command: most of it comes again, and shares its strings.
type previous struct {
	args  []string // the writer's
	reply string   // the reader's
}

// sent is a request under way. It is reused, with the storage of its arguments, once Done has returned.
type sent struct {
	cmd       history.Command
	last      *previous        // of the command
	write     bool             // set when Watch is
	operation faults.Operation // set when Watch is
}

// Write passes the requests in p through the gate together: a pipeline is delayed or lost as a whole, as one packet would be.
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
	s := c.spare
	if s == nil {
		s = new(sent)
	}
	c.describe(s, req)
	if c.wire.Watch != nil {
		s.write, s.operation = req.IsWrite(), c.wire.Operation(c.node < 0)
		if err := c.watch(s, faults.Leaving); err != nil {
			return err
		}
	}
	s.cmd.Sent = c.wire.Timeline()
	c.expect(req, s)
	return nil
}

func (c *wired) watch(s *sent, at faults.Stage) error {
	return c.wire.Watch(faults.Event{Kind: faults.Messages, Client: c.wire.Client, Stage: at, Operation: s.operation, Command: &s.cmd, Write: s.write})
}

// expect registers a request before it is written, so that its reply cannot arrive first. A request to which the node will not reply is not
// recorded, and s is spare again.
func (c *wired) expect(req resp.Request, s *sent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.pairs.Expect(req)
	if at == nil {
		c.spare = s
		return
	}
	*at, c.spare = s, nil
	if last := len(c.idle) - 1; last >= 0 {
		c.spare, c.idle = c.idle[last], c.idle[:last]
	}
}

// describe fills in the record of a request. Most arguments repeat earlier ones, so an argument equal to last time's shares its string: recording
// must not slow the client down.
func (c *wired) describe(s *sent, req resp.Request) {
	cmd := &s.cmd
	*cmd = history.Command{Node: c.node, Conn: c.id, Name: req.Name(), Args: cmd.Args[:0], Cut: req.Len()-1 > history.MaxArgs}
	s.last = c.lastOf(cmd.Name)
	before := s.last.args
	for i := range min(req.Len()-1, history.MaxArgs) {
		raw := req.Arg(i + 1)
		if name, ok := c.script(cmd, i, raw); ok {
			cmd.Args = append(cmd.Args, name)
			continue
		}
		cmd.Cut = cmd.Cut || len(raw) > history.MaxArg
		switch {
		case i < len(before) && before[i] == string(raw):
			cmd.Args = append(cmd.Args, before[i])
		case c.fresh == string(raw):
			cmd.Args = append(cmd.Args, c.fresh)
		default:
			c.fresh = resp.Text(raw, history.MaxArg)
			cmd.Args = append(cmd.Args, c.fresh)
		}
	}
	s.last.args = append(before[:0], cmd.Args...)
}

// lastOf returns what was last sent under the name of a command.
func (c *wired) lastOf(name string) *previous {
	last, ok := c.before[name]
	if !ok {
		if c.before == nil {
			c.before = map[string]*previous{}
		}
		last = &previous{}
		c.before[name] = last
	}
	return last
}

// script sets cmd.Script to the digest of the script that the command runs. It returns the script's name, or else its digest, to record in place of
// the argument that holds the source or the digest.
func (c *wired) script(cmd *history.Command, arg int, raw []byte) (string, bool) {
	switch {
	case arg == 0 && cmd.Name == "EVALSHA":
		if c.digest != string(raw) {
			c.digest = strings.ToLower(string(raw))
			c.called = cmp.Or(c.wire.Names[c.digest], c.digest)
		}
		cmd.Script = c.digest
		return c.called, true
	case arg == 0 && cmd.Name == "EVAL":
		cmd.Script = c.sourceOf(raw)
		line, _, _ := bytes.Cut(raw, []byte("\n"))
		if name, ok := bytes.CutPrefix(line, []byte("-- name: ")); ok {
			return string(name), true
		}
		return cmp.Or(c.wire.Names[cmd.Script], cmd.Script), true
	case arg == 1 && cmd.Name == "SCRIPT" && strings.EqualFold(cmd.Args[0], "load"):
		return c.sourceOf(raw), true
	}
	return "", false
}

// sourceOf passes a script's source to Source and returns its digest.
func (c *wired) sourceOf(raw []byte) string {
	if digest, ok := c.digests[string(raw)]; ok {
		return digest
	}
	if c.digests == nil {
		c.digests = map[string]string{}
	}
	source := string(raw)
	digest := fmt.Sprintf("%x", sha1.Sum(raw))
	c.digests[source] = digest
	if c.wire.Source != nil {
		c.wire.Source(history.Script{Digest: digest, Source: source})
	}
	return digest
}

// Read returns what the server sent once every reply in it may be seen.
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
	s.cmd.Reply = s.last.line(r)
	if c.wire.Watch != nil {
		if err := c.watch(s, faults.Returning); err != nil {
			c.wire.Done(s.cmd) // the client crashes here and never sees the reply
			return err
		}
	}
	s.cmd.Replied = c.wire.Timeline()
	c.wire.Done(s.cmd)
	c.spent = s
	return nil
}

// line returns the text of a reply; a reply equal to the last shares its string.
func (l *previous) line(r resp.Reply) string {
	if short := r.Raw; len(short) > 3 && len(l.reply)+3 == len(short) && (short[0] == ':' || short[0] == '+') && l.reply == string(short[1:len(short)-2]) {
		return l.reply
	}
	l.reply = r.Line(history.MaxReply)
	return l.reply
}

// answered returns the request whose last reply this is; nil if there is none.
func (c *wired) answered(r resp.Reply) *sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spent != nil {
		c.idle, c.spent = append(c.idle, c.spent), nil
	}
	s, last := c.pairs.Answer(r)
	if s == nil || !last {
		return nil
	}
	return *s
}

// abandoned removes and returns the oldest unanswered request; nil if there is none.
func (c *wired) abandoned() *sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.pairs.Abandon(); s != nil {
		return *s
	}
	return nil
}

// Close records the requests that were never answered.
func (c *wired) Close() error {
	c.wire.Gate.forget(c.Conn)
	err := c.Conn.Close()
	for s := c.abandoned(); s != nil; s = c.abandoned() {
		c.wire.Done(s.cmd)
	}
	return err
}
