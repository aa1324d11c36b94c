package redistest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is one node.
type Server struct {
	// Addr is an IP literal and a port; of a virtual server only the first is real.
	Addr string
	// Mini is the virtual server, nil for a real one.
	Mini *miniredis.Miniredis
	dial func(ctx context.Context) (net.Conn, error)
}

// Both runs the test on a virtual and on a real server.
func Both(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Run("virtual", func(t *testing.T) { Virtual(t, test) })
	t.Run("real", func(t *testing.T) { Real(t, test) })
}

// Virtual runs the test in a bubble with a miniredis whose keys expire as the bubble's clock runs.
func Virtual(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, NewVirtual(t)) })
}

// NewVirtual makes a miniredis for the present bubble.
func NewVirtual(t *testing.T) *Server {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	t.Cleanup(m.Close)
	return &Server{Addr: "127.0.0.1:1", Mini: m, dial: func(context.Context) (net.Conn, error) { return m.Dial() }}
}

// Real runs the test on a redis-server of its own.
func Real(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	test(t, NewReal(t))
}

// NewReal starts a redis-server without persistence on a free port and stops it with the test.
func NewReal(t testing.TB) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		missing(t, err)
	}
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--repl-diskless-sync-delay", "0", "--dir", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("redis-server: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if !ready(bufio.NewScanner(out)) {
		t.Fatalf("redis-server on %s ended before it was ready", addr)
	}
	var d net.Dialer
	return &Server{Addr: addr, dial: func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }}
}

func missing(t testing.TB, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "process") {
		t.Fatalf("redis-server is required: %v", err)
	}
	t.Skipf("redis-server: %v", err)
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func ready(lines *bufio.Scanner) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return true
		}
	}
	return false
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

// String names the server for messages.
func (s *Server) String() string {
	if s.Mini != nil {
		return "miniredis"
	}
	return fmt.Sprintf("redis-server at %s", s.Addr)
}
