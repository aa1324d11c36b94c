package redistest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// Client is one client of a server. Before, LoseReply and LoseRequest apply once, to the client's
// first request that contains the text, in lower case ("setnx").
type Client struct {
	Redis  redis.UniversalClient
	server *Server
	mu     sync.Mutex // protects rules: a lock's background goroutine may send while the test adds one
	rules  []rule
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
	return &wire{Conn: conn, client: c}, nil
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
	mu     sync.Mutex // protects lost: reads and writes may come from two goroutines
	lost   string
}

// Write sends a request, unless a rule loses it.
func (w *wire) Write(b []byte) (int, error) {
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
