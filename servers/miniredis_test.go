package servers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// Leases expire, because the clock runs; Info says that it is not Redis; and it supports no server fault.
func TestMiniredis(t *testing.T) {
	t.Parallel()
	d, ctx := start(t, servers.Miniredis{}, servers.Spec{Topology: impls.Independent, Nodes: 2}), t.Context()
	set(t, d, 1, "lease", 50*time.Millisecond)
	if has(t, d, 0, "lease") || !has(t, d, 1, "lease") {
		t.Error("want two nodes")
	}
	eventually(t, "the lease ends", func() bool { return !has(t, d, 1, "lease") })
	infos, err := d.Info(ctx)
	must(t, err)
	if len(infos) != 2 || !strings.Contains(infos[0].Version, "not Redis") {
		t.Errorf("info: %+v", infos)
	}
	set(t, d, 0, "k", 0)
	must(t, d.DeleteKeys(ctx, 0, "k"))
	if has(t, d, 0, "k") {
		t.Error("DeleteKeys left the key")
	}
	sha := client(t, d, 0).ScriptLoad(ctx, "return 1").Val()
	must(t, d.FlushScripts(ctx, 0))
	if client(t, d, 0).ScriptExists(ctx, sha).Val()[0] {
		t.Error("FlushScripts left the script")
	}
	wantErr(t, "kill", d.Kill(ctx, 0), servers.ErrRefused)
	_, err = servers.Miniredis{}.Start(ctx, cluster)
	wantErr(t, "cluster", err, servers.ErrRefused)
	_, err = servers.Miniredis{}.Start(ctx, servers.Spec{Persistence: impls.PersistAlways})
	wantErr(t, "persistence", err, servers.ErrRefused)
}
