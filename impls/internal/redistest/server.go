// Package redistest provides a server, clients with faulty connections, and lock handles for the
// tests of the lock families.
//
// Virtual runs a test against miniredis in a testing/synctest bubble, where time is free and expiry
// exact. Real runs it against redis-server from PATH, and skips it if there is none, unless the
// environment variable LOCKBENCH_REQUIRE names "process". Both runs it against each.
package redistest

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/internal/testneeds"
)

// Server is one node.
type Server struct {
	// Addr is an IP literal and a port; of a virtual server only the first is real.
	Addr string
	// Live is the embedded server, nil for a real one.
	Live *fakeredis.Live
	dial func(ctx context.Context) (net.Conn, error)
}

// Both runs the test on a virtual and on a real server.
func Both(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Run("virtual", func(t *testing.T) { Virtual(t, test) })
	t.Run("real", func(t *testing.T) { Real(t, test) })
}

// Virtual runs the test in a bubble with a server whose keys expire as the bubble's clock runs.
func Virtual(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, NewVirtual(t)) })
}

// NewVirtual makes an embedded server for the present bubble.
func NewVirtual(t *testing.T) *Server {
	t.Helper()
	l, err := fakeredis.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return &Server{Addr: "127.0.0.1:1", Live: l, dial: func(context.Context) (net.Conn, error) { return l.Dial(), nil }}
}

// Real runs the test on a redis-server of its own.
func Real(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	test(t, NewReal(t))
}

// NewReal starts a redis-server without persistence on a free port and stops it with the test.
func NewReal(t testing.TB) *Server {
	t.Helper()
	addr := testneeds.RedisServer(t)
	var d net.Dialer
	return &Server{Addr: addr, dial: func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }}
}

// timeout is how long a client waits for one reply.
const timeout = 2 * time.Second

// Client opens a client of the server with its own connections; the test's end closes it.
func (s *Server) Client(t testing.TB) *Client {
	t.Helper()
	c := &Client{server: s}
	c.Redis = redis.NewClient(&redis.Options{
		Addr: s.Addr, Dialer: c.dial, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		ReadTimeout: timeout, WriteTimeout: timeout, DialTimeout: timeout, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() {
		if err := c.Redis.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return c
}
