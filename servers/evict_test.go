package servers_test

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/servers"
)

// Keys are evicted with or without a lease. Afterwards the server is as before: no other key is
// missing, no filler is left.
func TestEvictKeys(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		for name, spec := range map[string]servers.Spec{"standalone": {MaxMemory: 64 << 20}, "pair": pair} {
			t.Run(name, func(t *testing.T) {
				d, ctx := start(t, p, spec), t.Context()
				settings := func() [2]string {
					infos, err := d.Info(ctx)
					must(t, err)
					return [2]string{infos[0].Config["maxmemory"], infos[0].Config["maxmemory-policy"]}
				}
				before := settings()
				set(t, d, 0, "lock", time.Minute)
				set(t, d, 0, "lock:fence", 0)
				set(t, d, 0, "lock:queue", 0)
				evicted, err := d.EvictKeys(ctx, 0, "lock", "lock:fence")
				must(t, err)
				keys := map[string]int{}
				for _, e := range evicted {
					keys[e.Key]++
				}
				c := client(t, d, 0)
				other := 1 - int(c.Exists(ctx, "lock:queue").Val()) // any key may go
				if keys["lock"] != 1 || keys["lock:fence"] != 1 || keys["lock:queue"] != other || len(keys) != 2+other {
					t.Errorf("evictions %v, want one of each key that is gone, the queue's %d", evicted, other)
				}
				if left := c.DBSize(ctx).Val(); int(left) != 1-other {
					t.Errorf("%d keys are left", left)
				}
				if after := settings(); after != before {
					t.Errorf("settings: %q, were %q", after, before)
				}
				// A key that was deleted otherwise does not count as evicted.
				if evicted, err := d.EvictKeys(ctx, 0, "never-was"); len(evicted) != 0 || err != nil {
					t.Errorf("%v: evictions of a missing key, %v", evicted, err)
				}
			})
		}
	})
}

func TestEvictKeysOfACluster(t *testing.T) {
	p := servers.NewProcess(servers.ProcessOptions{})
	need(t, p)
	_, err := start(t, p, cluster).EvictKeys(t.Context(), 0, "lock")
	wantErr(t, "evict from a cluster's node", err, servers.ErrRefused)
}
