package locktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/workloads"
)

// node is one Redis. admin bypasses every fault.
type node struct {
	addr  string
	fake  *fakeredis.Live // nil for a real server
	dial  func(ctx context.Context) (net.Conn, error)
	admin *redis.Client
	// replicas replicate it; only their admin is used.
	replicas []*node
}

// realSlack is how late something may be in real time.
const realSlack = 60 * time.Millisecond

// virtualNodes makes n embedded servers: in the current bubble, or in real time.
func virtualNodes(t *testing.T, n int) []*node {
	t.Helper()
	out := make([]*node, n)
	for i := range out {
		f, err := fakeredis.NewLive()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		out[i] = &node{addr: fmt.Sprintf("127.0.0.1:%d", i+1), fake: f, dial: func(context.Context) (net.Conn, error) { return f.Dial(), nil }}
		out[i].open(t)
	}
	return out
}

// startServers starts redis-servers without persistence on free ports, with their replicas, and
// stops them when the test ends. It returns the addresses: for each node its own, followed by those
// of its replicas.
func startServers(t *testing.T, cfg config) [][]string {
	t.Helper()
	// sixteen databases are searched for expired keys at a time: all of them within a fifth of a
	// second
	options := []string{"--databases", strconv.Itoa(databases), "--hz", "100"}
	out := make([][]string, cfg.nodes)
	for i := range out {
		primary := testneeds.RedisServer(t, options...)
		out[i] = []string{primary}
		host, port, _ := net.SplitHostPort(primary)
		for range cfg.replicas {
			out[i] = append(out[i], testneeds.RedisServer(t, append(options, "--replicaof", host+" "+port)...))
		}
	}
	return out
}

// databases is how many rules can share a server, each with its own database.
const databases = 256

// realNode connects to a database of a running server.
func realNode(t *testing.T, addr string, db int) *node {
	t.Helper()
	n := &node{addr: addr, dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil || db == 0 {
			return conn, err
		}
		answer, err := resp.Ask(conn, "SELECT", strconv.Itoa(db))
		if err == nil && answer != "+OK" {
			err = fmt.Errorf("SELECT %d: %q", db, answer)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}}
	n.open(t)
	return n
}

func (n *node) open(t *testing.T) {
	t.Helper()
	n.admin = redis.NewClient(clientOptions(n.addr, func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx) }))
	t.Cleanup(func() { _ = n.admin.Close() })
}

// clientOptions are the options of every lock's Redis client: no automatic retries, which would
// hide a lost reply, and no waiting for a connection.
func clientOptions(addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Options {
	return workloads.ClientOptions(workloads.Access{Dial: dial, Timeout: 2 * time.Second, Pool: upstream.NobodyWaits(true)}, addr)
}
