package servers_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// A key that the replica lacks when it is promoted is lost; one that it has is kept.
func TestFailover(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, pair), t.Context()
		set(t, d, 0, "early", 0)
		eventually(t, "the replica gets the key", func() bool { return has(t, d, 1, "early") })
		must(t, d.SetReplication(ctx, 0, false))
		set(t, d, 0, "late", 0)
		must(t, d.Kill(ctx, 0))
		before := d.Addr(1)
		err := d.Promote(ctx, 0)
		must(t, err)
		if d.Addr(0) != before {
			t.Errorf("primary at %s, want %s", d.Addr(0), before)
		}
		if !has(t, d, 0, "early") || has(t, d, 0, "late") {
			t.Error("the promoted replica must have the early key and not the late one")
		}
		set(t, d, 0, "new", 0) // it takes writes

		must(t, d.Restart(ctx, 0)) // the old primary, by its machine number
		if has(t, d, 1, "new") {
			t.Error("the old primary follows although replication is cut")
		}
		must(t, d.SetReplication(ctx, 0, true))
		if !has(t, d, 1, "new") {
			t.Error("replication was restored, but the old primary has not caught up")
		}
	})
}

// A cluster's master is replaced by its replica, which has what it had before it fell behind, and
// clients that know the number of the old one reach it.
func TestClusterFailover(t *testing.T) {
	p, ctx := servers.NewProcess(servers.ProcessOptions{}), t.Context()
	need(t, p)
	d := start(t, p, servers.Spec{Topology: impls.Cluster, Nodes: 6})
	set(t, d, 0, "{job}early", 0)
	eventually(t, "the replica gets the key", func() bool { return client(t, d, 3).DBSize(ctx).Val() == 1 })
	must(t, d.SetReplication(ctx, 0, false))
	set(t, d, 0, "{job}late", 0)
	must(t, d.Kill(ctx, 0))
	must(t, d.Promote(ctx, 0))
	if !has(t, d, 0, "{job}early") || has(t, d, 0, "{job}late") {
		t.Error("the promoted replica must have the early key and not the late one")
	}
	set(t, d, 0, "{job}new", 0) // it takes writes
	eventually(t, "the other masters know it", func() bool {
		return strings.Contains(client(t, d, 1).Do(ctx, "GET", "{job}early").Err().Error(), d.Addr(0))
	})
}

// A pair that has started confirms a write within a round trip, because the replica has reported
// its offset.
func TestPairConfirmsWrites(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, pair), t.Context()
		conn := client(t, d, 0).Conn() // WAIT is about the writes of its connection
		defer conn.Close()
		must(t, conn.Set(ctx, "lock", "v", 0).Err())
		if n, err := conn.Wait(ctx, 1, 100*time.Millisecond).Result(); n != 1 || err != nil {
			t.Errorf("%d replicas confirm the first write: %v", n, err)
		}
	})
}

// An old primary that comes back after a promotion does not replicate until it is made a replica.
func TestOldPrimaryStaysAlone(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, pair), t.Context()
		must(t, d.Kill(ctx, 0))
		err := d.Promote(ctx, 0)
		must(t, err)
		must(t, d.Restart(ctx, 0))
		set(t, d, 0, "new", 0)
		set(t, d, 1, "old", 0) // a replica would refuse the write
		if has(t, d, 1, "new") {
			t.Error("the old primary follows the new one")
		}
	})
}

// A restarted replica follows its primary again, wherever that is by now.
func TestReplicationSurvivesRestarts(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, servers.Spec{Topology: impls.Replicated, Persistence: impls.PersistAlways}), t.Context()
		set(t, d, 0, "k", 0)
		for _, machine := range []int{1, 0} {
			must(t, d.Kill(ctx, machine))
			must(t, d.Restart(ctx, machine))
		}
		if !has(t, d, 0, "k") || !has(t, d, 1, "k") {
			t.Error("a key was lost")
		}
		set(t, d, 0, "k2", 0)
		eventually(t, "the replica gets the new key", func() bool { return has(t, d, 1, "k2") })
	})
}

// clusterClient has one address of the cluster and gets the others from the cluster.
func clusterClient(t *testing.T, d servers.Deployment) *redis.ClusterClient {
	t.Helper()
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                    []string{d.Addr(0)},
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// Keys of all slots are served, at addresses that clients can reach, before and after a restart.
func TestCluster(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, cluster), t.Context()
		must(t, writeEverySlot(ctx, clusterClient(t, d)))
		checkAddresses(t, d)
		err := clusterClient(t, d).MSet(ctx, "{a}k", 1, "{b}k", 2).Err()
		if err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
			t.Errorf("keys of two slots in one command: %v, want CROSSSLOT", err)
		}
		must(t, d.Kill(ctx, 1))
		must(t, d.Restart(ctx, 1))
		must(t, writeEverySlot(ctx, clusterClient(t, d)))
		checkAddresses(t, d)
	})
}

// writeEverySlot writes enough keys that each of three masters gets some.
func writeEverySlot(ctx context.Context, c *redis.ClusterClient) error {
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		if err := c.Set(ctx, key, "v", time.Minute).Err(); err != nil {
			return err
		}
	}
	return nil
}

// checkAddresses compares the addresses that the cluster announces with those of the nodes.
func checkAddresses(t *testing.T, d servers.Deployment) {
	t.Helper()
	var told, want []string
	var mu sync.Mutex // masters are visited concurrently
	must(t, clusterClient(t, d).ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, c.Options().Addr)
		return nil
	}))
	for node := range d.Len() {
		want = append(want, d.Addr(node))
		if host, _, _ := net.SplitHostPort(d.Addr(node)); net.ParseIP(host) == nil {
			t.Errorf("address %s is not an IP literal", d.Addr(node))
		}
	}
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Errorf("the cluster sends clients to %v, the nodes are at %v", told, want)
	}
}
