package locktest

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
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// node is one Redis. admin reaches it past every fault.
type node struct {
	addr  string
	mini  *miniredis.Miniredis // nil for a real one
	dial  func(ctx context.Context) (net.Conn, error)
	admin *redis.Client
	// replicas copy it; their admin alone is of use.
	replicas []*node
}

// realSlack is by how much real time may be late.
const realSlack = 60 * time.Millisecond

// virtualNodes makes n miniredis in the present bubble.
func virtualNodes(t *testing.T, n int) []*node {
	t.Helper()
	out := make([]*node, n)
	for i := range out {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		t.Cleanup(m.Close)
		out[i] = &node{addr: fmt.Sprintf("127.0.0.1:%d", i+1), mini: m, dial: func(context.Context) (net.Conn, error) { return m.Dial() }}
		out[i].open(t)
	}
	return out
}

// realNodes starts redis-servers without persistence on free ports, with their replicas, and stops them with the test.
func realNodes(t *testing.T, cfg config) []*node {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		missing(t, err)
	}
	out := make([]*node, cfg.nodes)
	for i := range out {
		out[i] = realNode(t, path)
		host, port, _ := net.SplitHostPort(out[i].addr)
		for range cfg.replicas {
			out[i].replicas = append(out[i].replicas, realNode(t, path, "--replicaof", host+" "+port))
		}
	}
	return out
}

func realNode(t *testing.T, path string, more ...string) *node {
	t.Helper()
	addr := startServer(t, path, more...)
	n := &node{addr: addr, dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}}
	n.open(t)
	return n
}

func missing(t *testing.T, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "process") {
		t.Fatalf("redis-server is required: %v", err)
	}
	t.Skipf("redis-server: %v", err)
}

func startServer(t *testing.T, path string, more ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--repl-diskless-sync-delay", "0", "--dir", t.TempDir()}, more...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("redis-server: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return addr
		}
	}
	t.Fatalf("redis-server on %s ended before it was ready", addr)
	return ""
}

func (n *node) open(t *testing.T) {
	t.Helper()
	n.admin = redis.NewClient(clientOptions(n.addr, func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx) }))
	t.Cleanup(func() { _ = n.admin.Close() })
}

// clientOptions are what lockbench gives to every lock: no automatic retries, which would hide a lost reply.
func clientOptions(addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Options {
	const limit = 2 * time.Second
	return &redis.Options{
		Addr: addr, Dialer: dial, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit, PoolTimeout: limit, PoolSize: 4,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
