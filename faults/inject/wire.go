package inject

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Wire makes the connections of one client. Each passes through the client's gate; its traffic is
// parsed, passed to Watch and recorded.
type Wire struct {
	Gate     *Goroutine // of the client
	Client   int        // from 1
	Timeline func() int64
	Names    map[string]string // of scripts, by digest
	// Source, when set, receives the source of each script that the client sends, at least once.
	Source func(history.Script)
	// Scripts, when set, is shared by the clients of a run. It makes sure that Source receives each
	// script that the lock's nodes run.
	Scripts *Scripts
	// First is the number of the client's first connection. The ranges of different clients must
	// not overlap.
	First uint64
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	// maps an address to its node; -1 for the guarded store's own server; Aside for a sentinel
	Node func(addr string) int

	// Plan, when set, has the faults of the run. If one is placed at a message of the client, Watch
	// is called before each command leaves, and when its reply has come but is not seen. It may
	// block; its error ends the connection.
	Plan  *faults.Plan
	Watch func(e faults.Event) error
	// Done is called for each command before the client sees the reply, or when the connection
	// ended (Replied is 0). It must copy what it keeps.
	Done func(cmd history.Command)

	last atomic.Uint64 // number of connections
}

// Aside is the node of connections that are gated and not recorded.
const Aside = -2

// Open dials an address.
func (w *Wire) Open(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := w.Gate.Pass(); err != nil {
		return nil, err
	}
	raw, err := w.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if !w.Gate.keep(raw) {
		raw.Close()
		return nil, w.Gate.Pass()
	}
	if node := w.Node(addr); node == Aside {
		return &gated{raw, w.Gate}, nil
	}
	watched := w.Plan != nil && w.Plan.WatchesMessages(w.Client, faults.Leaving, faults.Returning)
	return &wired{Conn: raw, wire: w, node: w.Node(addr), id: w.First + w.last.Add(1), watched: watched}, nil
}

// wired is one connection of a client. At any time one goroutine writes and one reads; they share
// pairs and idle.
type wired struct {
	net.Conn
	wire     *Wire
	node     int
	id       uint64
	watched  bool              // by the wire's Watch
	requests resp.Requests     // the writer's
	known    knownRequests     // the writer's
	digests  map[string]string // the writer's: digests of the scripts sent, by source
	replies  resp.Replies      // the reader's
	pairs    resp.Pairing[*sent]
	idle     atomic.Pointer[sent] // for the next request: a client that waits for each reply needs no other
}

// sent is a request under way. It is reused, with the storage of its arguments, once Done has
// returned.
type sent struct {
	cmd       history.Command
	like      *known
	write     bool             // set when it is watched
	operation faults.Operation // set when it is watched
}

// Write passes the requests in p through the gate together: a pipeline is delayed or lost as a
// whole, as one packet would be.
func (c *wired) Write(p []byte) (int, error) {
	if err := c.wire.Gate.Pass(); err != nil {
		return 0, err
	}
	if c.requests.Between() {
		if k := c.known.find(p); k != nil {
			if err := c.request(k); err != nil {
				return 0, err
			}
			return c.Conn.Write(p)
		}
	}
	packet := p // what is sent to the node
	c.requests.Feed(p)
	for req, ok := c.requests.Next(); ok; req, ok = c.requests.Next() {
		cmd := history.Command{Node: c.node, Conn: c.id, Name: req.Name(), Cut: req.Len()-1 > history.MaxArgs}
		for i := range min(req.Len()-1, history.MaxArgs) {
			raw := req.Arg(i + 1)
			text, ok := c.script(&cmd, i, raw)
			if !ok {
				cmd.Cut = cmd.Cut || len(raw) > history.MaxArg
				text = c.known.text(raw)
			}
			cmd.Args = append(cmd.Args, text)
		}
		if err := c.request(c.known.add(req, cmd)); err != nil {
			return 0, err
		}
		if cmd.Name != "EVALSHA" || c.node < 0 || !c.wire.Scripts.see(cmd.Script) {
			continue
		}
		// the node gets a digest that no script has; not found, it came in two parts
		digest := []byte(cmd.Script)
		if at := max(bytes.Index(packet, digest), bytes.Index(packet, bytes.ToUpper(digest))); at >= 0 {
			packet = bytes.Clone(packet)
			copy(packet[at:], bytes.Repeat([]byte("0"), len(digest)))
		}
	}
	return c.Conn.Write(packet)
}

// request notes the request that k is now.
func (c *wired) request(k *known) error {
	s := c.idle.Swap(nil)
	if s == nil {
		s = new(sent)
	}
	args := append(s.cmd.Args[:0], k.cmd.Args...)
	s.cmd, s.like = k.cmd, k
	s.cmd.Args = args
	if c.watched {
		s.write, s.operation = k.request.IsWrite(), c.wire.Plan.Operation(c.wire.Client, c.node < 0)
		if err := c.watch(s, faults.Leaving); err != nil {
			return err
		}
	}
	s.cmd.Sent = c.wire.Timeline()
	if !c.pairs.Expect(k.request, s) { // it is not recorded
		c.idle.Store(s)
	}
	return nil
}

func (c *wired) watch(s *sent, at faults.Stage) error {
	return c.wire.Watch(faults.Event{Kind: faults.Messages, Client: c.wire.Client, Stage: at, Operation: s.operation, Command: &s.cmd, Write: s.write})
}

// script sets cmd.Script to the digest of the command's script. It returns the script's name, or
// its digest, to record instead of the argument.
func (c *wired) script(cmd *history.Command, arg int, raw []byte) (string, bool) {
	switch {
	case arg == 0 && cmd.Name == "EVALSHA":
		cmd.Script = strings.ToLower(string(raw))
		return cmp.Or(c.wire.Names[cmd.Script], cmd.Script), true
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
	digest := history.ScriptDigest(source)
	c.digests[source] = digest
	c.wire.Scripts.see(digest)
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
			s, last := c.pairs.Answer(reply)
			if !last {
				continue
			}
			s.cmd.Reply = s.like.line(reply)
			if c.watched {
				if err := c.watch(s, faults.Returning); err != nil {
					c.wire.Done(s.cmd) // the client crashes here and never sees the reply
					return 0, err
				}
			}
			s.cmd.Replied = c.wire.Timeline()
			c.wire.Done(s.cmd)
			c.idle.Store(s)
		}
		if beyond := c.replies.Beyond(); beyond != nil { // the client would allocate what is announced
			return 0, fmt.Errorf("the server's reply: %w", beyond)
		}
	}
	if gone := c.wire.Gate.Pass(); gone != nil {
		return 0, gone
	}
	return n, err
}

// Close records the requests that were never answered.
func (c *wired) Close() error {
	c.wire.Gate.forget(c.Conn)
	err := c.Conn.Close()
	for s, ok := c.pairs.Abandon(); ok; s, ok = c.pairs.Abandon() {
		c.wire.Done(s.cmd)
	}
	return err
}

// Scripts knows the scripts whose sources the clients of a run have sent. A server that was used
// before runs scripts by their digests alone; their sources would be missing in the record, and
// without them no command can be executed again. So the first call of such a script is answered as
// by a new server, with NOSCRIPT, and the client sends the source. The zero value is ready for use,
// by several goroutines; nil changes no call.
type Scripts struct {
	known sync.Map // by digest
}

// see notes a digest, and reports whether it was not known.
func (s *Scripts) see(digest string) bool {
	if s == nil {
		return false
	}
	_, known := s.known.LoadOrStore(digest, true)
	return !known
}
