package inject

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Wire makes the connections of one client: each goes through the client's gate, and what passes is understood, shown to Watch and
// recorded.
type Wire struct {
	Gate     *Gate
	Client   int // from 1
	Timeline func() int64
	Names    map[string]string // of scripts, by digest
	// Source is told of the scripts whose sources the client sends, at least once for each; nil: nobody wants to know.
	Source func(history.Script)
	// First is the number of the client's first connection. Those of other clients must be far from it.
	First uint64
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Node  func(addr string) int // which node an address is; -1 for the guarded store's own server

	// Watch, when set, learns of every command when it is about to leave the client, and when its reply has arrived and the client has not
	// seen it. It may stall the caller; an error ends the connection and reaches the client.
	Watch func(e faults.Event) error
	// Operation says for what the client sends a request now; it is asked when Watch is set.
	Operation func(toStore bool) faults.Operation
	// Done learns of a command when the client is about to see the reply, or when the connection ended without one (Replied is 0). The
	// arguments' storage is the caller's: they are copied or forgotten before Done returns.
	Done func(cmd history.Command)

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
	return &wired{Conn: raw, wire: w, node: w.Node(addr), id: w.First + w.last}, nil
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
	fresh    string              // the writer's: the last argument that was none of those, such as a token, which the release sends again
	digest   string              // the writer's: of the script last called by it
	digests  map[string]string   // the writer's: of the scripts that were sent, by source
	replies  resp.Replies        // the reader's
	said     string              // the reader's: the last reply

	mu    sync.Mutex // protects what follows
	pairs resp.Pairing[*sent]
	idle  []*sent // to be used again: a client that waits for each reply needs one
}

// sent is a request under way. Its storage, the arguments' included, is used again once the tap is done with it.
type sent struct {
	cmd       history.Command
	write     bool
	operation faults.Operation // when somebody watches
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
	if c.wire.Watch != nil {
		s.operation = c.wire.Operation(c.node < 0)
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
	*cmd = history.Command{Node: c.node, Conn: c.id, Name: req.Name(), Args: cmd.Args[:0], Cut: req.Len()-1 > history.MaxArgs}
	before := c.before[cmd.Name]
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
	if c.before == nil {
		c.before = map[string][]string{}
	}
	if len(before) != len(cmd.Args) {
		c.before[cmd.Name] = slices.Clone(cmd.Args)
	} else {
		copy(before, cmd.Args)
	}
}

// script returns a command the digest of the script that it runs, and the script's name, or else its digest, in place of the argument that
// has the source or the digest: nobody has to read either.
func (c *wired) script(cmd *history.Command, arg int, raw []byte) (string, bool) {
	switch {
	case arg == 0 && cmd.Name == "EVALSHA":
		if c.digest != string(raw) {
			c.digest = strings.ToLower(string(raw))
		}
		cmd.Script = c.digest
		return cmp.Or(c.wire.Names[c.digest], c.digest), true
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

// sourceOf tells of a script, and gives its digest.
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
	if c.wire.Watch != nil {
		if err := c.watch(s, faults.Returning); err != nil {
			c.wire.Done(s.cmd) // the client dies of it, and never sees the reply
			return err
		}
	}
	s.cmd.Replied = c.wire.Timeline()
	c.wire.Done(s.cmd)
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
	c.said = r.Line(history.MaxReply)
	return c.said
}

// answered returns the request whose last reply this is; nil when there is none.
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
		c.wire.Done(s.cmd)
	}
	return err
}
