package servers_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

var watched = servers.Spec{Topology: impls.Sentinel, Log: true, DownAfter: time.Second}

// promotion waits until a replica is promoted.
func promotion(t *testing.T, d servers.Deployment) int {
	t.Helper()
	eventually(t, "a replica is promoted", func() bool { return len(d.Sentinels().Promotions()) > 0 })
	return d.Sentinels().Primary()
}

// asTold is a client that finds the primary by the sentinels.
func asTold(t *testing.T, d servers.Deployment) *redis.Client {
	t.Helper()
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: impls.MasterName, SentinelAddrs: d.Sentinels().Addrs(),
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			for node := range d.Len() {
				if addr == d.Sentinels().Known(node) {
					return d.Dial(ctx, node)
				}
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
	t.Cleanup(func() { c.Close() })
	return c
}

// A primary that is killed is replaced by a replica, which has its keys and which clients find by
// the sentinels. When it is back, it copies the new one.
func TestSentinelsReplaceAKilledPrimary(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, watched), t.Context()
		log := d.Log()
		t.Cleanup(func() { _ = log.Close() })
		must(t, client(t, d, 0).Set(ctx, "before", "v", 0).Err())
		conn := client(t, d, 0).Conn()
		must(t, conn.Set(ctx, "held", "v", 0).Err())
		must(t, conn.Do(ctx, "WAIT", 2, 5000).Err())
		must(t, conn.Close())
		must(t, d.Kill(ctx, 0))
		next := promotion(t, d)
		if next == 0 {
			t.Fatal("the promoted node is the killed one")
		}
		c := asTold(t, d)
		eventually(t, "clients are told of the new primary", func() bool { return c.Set(ctx, "after", "v", 0).Err() == nil })
		if !has(t, d, next, "held") {
			t.Error("the new primary lacks a key that was confirmed")
		}
		must(t, d.Restart(ctx, 0))
		old := client(t, d, 0)
		// it closes its connections when it is made a replica
		eventually(t, "the old primary copies the new one", func() bool {
			n, err := old.Exists(ctx, "after").Result()
			return err == nil && n == 1
		})
		want := map[int]string{
			0:    "SET before v; SET held v; restarted kept=false []; demoted kept=false [SET *",
			next: "SET before v; SET held v; promoted kept=true []; SET after v",
		}
		for node, text := range want {
			var got []string
			eventually(t, "the log has all", func() bool {
				got = append(got, logged(t, log, node)...)
				return len(got) >= strings.Count(text, ";")+1
			})
			joined := strings.Join(got, "; ")
			if prefix, any := strings.CutSuffix(text, "*"); joined != text && (!any || !strings.HasPrefix(joined, prefix)) {
				t.Errorf("the log of node %d has %q, want %q", node, joined, text)
			}
		}
	})
}

// A primary that the sentinels do not reach takes writes beside the one that replaced it, unless it
// must have replicas; they are lost when it is back.
func TestIsolatedPrimary(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		for _, row := range []struct {
			name    string
			need    int
			refuses bool
		}{
			{"alone", 0, false},
			{"with min-replicas-to-write", 1, true},
		} {
			t.Run(row.name, func(t *testing.T) {
				spec := watched
				spec.MinReplicas = row.need
				d, ctx := start(t, p, spec), t.Context()
				old := client(t, d, 0)
				must(t, old.Set(ctx, "lock", "old", 0).Err())
				heal := d.Sentinels().Isolate(0, 0)
				next := promotion(t, d)
				eventually(t, "the new primary has replicas, too", func() bool { return client(t, d, next).Set(ctx, "lock", "new", 0).Err() == nil })
				write := func() error { return old.Set(ctx, "lock", "late", 0).Err() }
				if row.refuses {
					eventually(t, "the old primary refuses writes", func() bool { err := write(); return err != nil && strings.HasPrefix(err.Error(), "NOREPLICAS") })
				} else {
					must(t, write())
				}
				heal()
				eventually(t, "the old primary follows the new one", func() bool { return client(t, d, 0).Get(ctx, "lock").Val() == "new" })
			})
		}
	})
}

// A stopped primary is replaced, and follows its successor when it goes on.
func TestPausedPrimary(t *testing.T) {
	p := servers.NewProcess(servers.ProcessOptions{})
	need(t, p)
	d, ctx := start(t, p, watched), t.Context()
	must(t, d.Pause(ctx, 0))
	next := promotion(t, d)
	must(t, client(t, d, next).Set(ctx, "lock", "new", 0).Err())
	must(t, d.Resume(ctx, 0))
	eventually(t, "the old primary follows the new one", func() bool { return client(t, d, 0).Get(ctx, "lock").Val() == "new" })
}
