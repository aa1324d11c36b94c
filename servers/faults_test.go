package servers_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

func TestKillAndRestart(t *testing.T) {
	rows := []struct {
		persistence impls.Persistence
		kept        bool
	}{
		{impls.PersistNone, false},    // nothing survives
		{impls.PersistEverySec, true}, // the kernel keeps what a killed process wrote
		{impls.PersistAlways, true},   // written before the reply
	}
	onEach(t, func(t *testing.T, p servers.Provider) {
		for _, row := range rows {
			t.Run(string(row.persistence), func(t *testing.T) {
				d := start(t, p, servers.Spec{Persistence: row.persistence})
				set(t, d, 0, "k", 0)
				must(t, d.Kill(t.Context(), 0))
				if _, err := d.Dial(t.Context(), 0); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("dial a killed node: %v, want connection refused", err)
				}
				if addr := d.Addr(0); addr != "" {
					t.Errorf("a killed node has the address %s", addr)
				}
				must(t, d.Restart(t.Context(), 0))
				if got := has(t, d, 0, "k"); got != row.kept {
					t.Errorf("key after restart: %v, want %v", got, row.kept)
				}
			})
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d := start(t, p, alone)
		c := client(t, d, 0)
		must(t, c.Ping(t.Context()).Err())
		must(t, d.Pause(t.Context(), 0))
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := c.Ping(short).Err(); err == nil {
			t.Error("a paused node answered")
		}
		must(t, d.Resume(t.Context(), 0))
		must(t, client(t, d, 0).Ping(t.Context()).Err())
		must(t, d.Pause(t.Context(), 0))
		must(t, d.Kill(t.Context(), 0))
	})
}

// A fault in the wrong state has no effect and returns an error.
func TestWrongState(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, alone), t.Context()
		wantErr(t, "restart a live node", d.Restart(ctx, 0), servers.ErrState)
		must(t, d.Resume(ctx, 0)) // no effect on a node that is not paused
		must(t, d.Pause(ctx, 0))
		wantErr(t, "pause a paused node", d.Pause(ctx, 0), servers.ErrState)
		must(t, d.Kill(ctx, 0))
		wantErr(t, "kill a dead node", d.Kill(ctx, 0), servers.ErrState)
		wantErr(t, "pause a dead node", d.Pause(ctx, 0), servers.ErrState)
		wantErr(t, "resume a dead node", d.Resume(ctx, 0), servers.ErrState)
		wantErr(t, "clock without clock faults", failed(d.JumpClock(ctx, 0, time.Second)), servers.ErrRefused)
		err := d.Promote(ctx, 0)
		wantErr(t, "promote without a replica", err, servers.ErrRefused)
		wantErr(t, "replicate without a replica", d.SetReplication(ctx, 0, true), servers.ErrRefused)
		if err := d.Kill(ctx, 1); err == nil {
			t.Error("killed node 1 of 1")
		}
		must(t, d.Close())
		wantErr(t, "restart after Close", d.Restart(ctx, 0), servers.ErrState)
	})
}

func TestOperatorCommands(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, alone), t.Context()
		c := client(t, d, 0)
		sha := c.ScriptLoad(ctx, "return 1").Val()
		must(t, d.FlushScripts(ctx, 0))
		if c.ScriptExists(ctx, sha).Val()[0] {
			t.Error("the script survived FlushScripts")
		}
		set(t, d, 0, "a", 0)
		set(t, d, 0, "b", 0)
		must(t, d.DeleteKeys(ctx, 0, "a", "missing"))
		if has(t, d, 0, "a") || !has(t, d, 0, "b") {
			t.Error("DeleteKeys must delete a and leave b")
		}
	})
}

func TestInfo(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d := start(t, p, servers.Spec{Persistence: impls.PersistAlways, MaxMemory: 8 << 20, Name: "bank"})
		infos, err := d.Info(t.Context())
		must(t, err)
		got := infos[0]
		want := map[string]string{"save": "", "appendonly": "yes", "appendfsync": "always",
			"maxmemory": "8388608", "maxmemory-policy": "allkeys-lru"}
		for name, value := range want {
			if got.Config[name] != value {
				t.Errorf("%s: %q, want %q", name, got.Config[name], value)
			}
		}
		if got.Name != "node 1" || got.Version == "" || (got.PID == 0) == (got.Image == "") {
			t.Errorf("name node 1, a version, and either a process or an image: %+v", got)
		}
		must(t, d.Kill(t.Context(), 0))
		infos, err = d.Info(t.Context())
		must(t, err)
		if infos[0].Version != "" || infos[0].Name != "node 1" {
			t.Errorf("a dead node has more than its name: %+v", infos[0])
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
