package servers_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/servers"
)

// providers lists those that support every server fault; each test of a fault runs on all.
func providers() map[string]servers.Provider {
	return map[string]servers.Provider{
		"process": servers.NewProcess(servers.ProcessOptions{}),
		"docker":  servers.NewDocker(servers.DockerOptions{}),
	}
}

// onEach runs a test on every provider that this machine has.
func onEach(t *testing.T, test func(*testing.T, servers.Provider)) {
	for name, p := range providers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, p)
			test(t, p)
		})
	}
}

// need skips the test without the provider, or fails it where LOCKBENCH_REQUIRE names the provider.
func need(t *testing.T, p servers.Provider) {
	t.Helper()
	testneeds.Need(t, p.Name(), p.Available(t.Context()))
}

// start brings up servers that are closed with the test.
func start(t *testing.T, p servers.Provider, spec servers.Spec) servers.Deployment {
	t.Helper()
	d, err := p.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// client is a go-redis client of one node, without retries, so that a test sees every refusal.
func client(t *testing.T, d servers.Deployment, node int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Dialer:     func(ctx context.Context, _, _ string) (net.Conn, error) { return d.Dial(ctx, node) },
		MaxRetries: -1, DialerRetries: 1, Protocol: 2, DisableIdentity: true,
		DialTimeout: time.Second, ReadTimeout: time.Second, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// set writes a key or fails.
func set(t *testing.T, d servers.Deployment, node int, key string, ttl time.Duration) {
	t.Helper()
	if err := client(t, d, node).Set(t.Context(), key, "v", ttl).Err(); err != nil {
		t.Fatalf("SET %s on node %d: %v", key, node, err)
	}
}

// has reports whether a key exists.
func has(t *testing.T, d servers.Deployment, node int, key string) bool {
	t.Helper()
	n, err := client(t, d, node).Exists(t.Context(), key).Result()
	if err != nil {
		t.Fatalf("EXISTS %s on node %d: %v", key, node, err)
	}
	return n == 1
}

// eventually waits for a condition that becomes true soon.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !happened(); {
		if time.Now().After(end) {
			t.Fatalf("did not happen within 10s: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// pair, cluster and alone are specs that many tests start from.
var (
	alone   = servers.Spec{}
	pair    = servers.Spec{Topology: impls.Replicated}
	cluster = servers.Spec{Topology: impls.Cluster}
)
