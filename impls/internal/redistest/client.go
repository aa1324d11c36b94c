package redistest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// Client is one client of a server. Before, LoseReply and LoseRequest apply once, to the client's
// first request that contains the text, in lower case ("setnx").
type Client struct {
	Redis  redis.UniversalClient
	server *Server
	mu     sync.Mutex // protects rules and record: a lock's background goroutine may send while the test adds one
	rules  []rule
	record []*Commands
}

type rule struct {
	text string
	do   func()
	lose string // "", "reply" or "request"
}

// Before runs do before the request leaves the client.
func (c *Client) Before(text string, do func()) { c.add(rule{text: text, do: do}) }

// LoseReply cuts the connection after the request was executed and before its reply arrives.
func (c *Client) LoseReply(text string) { c.add(rule{text: text, lose: "reply"}) }

// LoseRequest cuts the connection before the request reaches the server; the client cannot tell it
// from LoseReply.
func (c *Client) LoseRequest(text string) { c.add(rule{text: text, lose: "request"}) }

// Commands has the commands of clients in the order in which they were sent.
type Commands struct {
	mu   sync.Mutex // protects sent
	sent [][]any
}

// Record starts recording the client's commands.
func (c *Client) Record() *Commands {
	r := &Commands{}
	c.RecordIn(r)
	return r
}

// RecordIn starts recording the client's commands together with those of others.
func (c *Client) RecordIn(r *Commands) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record = append(c.record, r)
}

// Take returns the commands so far, one line for each, and removes them.
func (r *Commands) Take() (lines []string) {
	for _, args := range r.TakeArgs() {
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(args...)))
	}
	return lines
}

// TakeArgs is Take with the arguments apart.
func (r *Commands) TakeArgs() [][]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// Mark adds a command, which no client need have sent.
func (r *Commands) Mark(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, args)
}

// sends records a request.
func (c *Client) sends(q resp.Request) {
	args := make([]any, q.Len())
	for i := range args {
		args[i] = string(q.Arg(i))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.record {
		r.Mark(args...)
	}
}

func (c *Client) add(r rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules = append(c.rules, r)
}

// take removes and returns the rule for a request.
func (c *Client) take(request []byte) rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	request = bytes.ToLower(request)
	for i, r := range c.rules {
		if bytes.Contains(request, []byte(r.text)) {
			c.rules = append(c.rules[:i:i], c.rules[i+1:]...)
			return r
		}
	}
	return rule{}
}

// dial opens a connection of this client.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // as net.Dialer does
	}
	conn, err := c.server.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, client: c, show: resp.EachRequest(c.sends)}, nil
}

// Env is an environment for a lock of this client on a key derived from the test's name, with a
// lease and a source of randomness that depends on the owner alone.
func (c *Client) Env(t testing.TB, owner string, lease time.Duration) impls.Env {
	t.Helper()
	return impls.Env{
		Key: strings.ReplaceAll(t.Name(), "/", ":"), Owner: owner, Lease: lease, Poll: time.Millisecond,
		Nodes: []redis.UniversalClient{c.Redis}, Addrs: []string{c.server.Addr}, Dial: c.dial,
		Clock: impls.SystemClock{}, Rand: rand.NewChaCha8(sha256.Sum256([]byte(owner))),
	}
}

// wire is a connection that applies its client's rules.
type wire struct {
	net.Conn
	client *Client
	show   func(request []byte)
	mu     sync.Mutex // protects lost: reads and writes may come from two goroutines
	lost   string
}

// Write sends a request, unless a rule loses it.
func (w *wire) Write(b []byte) (int, error) {
	w.show(b)
	r := w.client.take(b)
	if r.do != nil {
		r.do()
	}
	w.mu.Lock()
	w.lost = r.lose
	w.mu.Unlock()
	if r.lose == "request" {
		return len(b), nil
	}
	return w.Conn.Write(b)
}

// Read returns a reply, unless a rule loses it after the server has sent it.
func (w *wire) Read(b []byte) (int, error) {
	w.mu.Lock()
	lost := w.lost
	w.mu.Unlock()
	if lost == "request" {
		return 0, w.cut()
	}
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	lost = w.lost
	w.mu.Unlock()
	if lost == "reply" {
		return 0, w.cut()
	}
	return n, err
}

func (w *wire) cut() error {
	_ = w.Conn.Close()
	return io.EOF
}
