package servers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

const secret = "s3cret-w0rd"

// ownedServer is a Redis with a password and a user, and a key of its owner in database 2.
func ownedServer(t *testing.T) (addr string, owner *redis.Client) {
	t.Helper()
	p := servers.NewProcess(servers.ProcessOptions{})
	need(t, p)
	d := start(t, p, alone)
	c := client(t, d, 0)
	must(t, c.Do(t.Context(), "SELECT", 2).Err())
	must(t, c.Set(t.Context(), "salary", 1, 0).Err())
	must(t, c.Do(t.Context(), "ACL", "SETUSER", "guest", "on", ">"+secret, "~*", "&*", "+@all").Err())
	must(t, c.ConfigSet(t.Context(), "requirepass", secret).Err())
	return d.Addr(0), c
}

// If a server does not answer as its address says, the error says what may be wrong.
func TestURLHints(t *testing.T) {
	t.Parallel()
	addr, _ := ownedServer(t)
	for url, hint := range map[string]string{
		"redis://" + addr + "/2":  "LOCKBENCH_REDIS_PASSWORD", // it wants a login
		"rediss://" + addr + "/2": "begins with redis://",     // it has no TLS
	} {
		u, err := servers.NewURL(servers.Access{}, url)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := u.Available(ctx); !errors.Is(err, servers.ErrMissing) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want a hint: %s", url, err, hint)
		}
	}
}

// A user's Redis receives commands on the run's own keys only.
func TestURLRefusesToHarm(t *testing.T) {
	t.Parallel()
	addr, _ := ownedServer(t)
	u, err := servers.NewURL(servers.Access{}, "redis://:"+secret+"@"+addr+"/2")
	must(t, err)
	d, ctx := start(t, u, servers.Spec{Prefix: "lb:"}), t.Context()
	set(t, d, 0, "lb:k", 0)
	promote := d.Promote(ctx, 0)
	_, evict := d.EvictKeys(ctx, 0, "lb:k")
	refusals := map[string]error{
		"kill": d.Kill(ctx, 0), "restart": d.Restart(ctx, 0), "pause": d.Pause(ctx, 0), "resume": d.Resume(ctx, 0),
		"promote": promote, "replication": d.SetReplication(ctx, 0, false), "clock": failed(d.JumpClock(ctx, 0, time.Second)),
		"drift": failed(d.DriftClock(ctx, 0, 2)), "scripts": d.FlushScripts(ctx, 0), "evict": evict,
		"a key of its owner": d.DeleteKeys(ctx, 0, "salary"),
		"one among ours":     d.DeleteKeys(ctx, 0, "lb:k", "salary"),
		"one like ours":      d.DeleteKeys(ctx, 0, "a{lb:k}"),
	}
	for what, err := range refusals {
		wantErr(t, what, err, servers.ErrRefused)
	}
	if !has(t, d, 0, "salary") || !has(t, d, 0, "lb:k") {
		t.Error("a refused deletion deleted something")
	}
	set(t, d, 0, "{lb:k}:queue", 0) // derived from a key of the run
	must(t, d.DeleteKeys(ctx, 0, "lb:k", "{lb:k}:queue"))
	if has(t, d, 0, "lb:k") || has(t, d, 0, "{lb:k}:queue") {
		t.Error("a key of the run was not deleted")
	}
	infos, err := d.Info(ctx)
	must(t, err)
	if infos[0].Version == "" || infos[0].Config["appendonly"] != "no" {
		t.Errorf("info: %+v", infos[0])
	}
	must(t, d.Close())
	must(t, u.Available(ctx)) // it still runs
}

// No error and no printed value shows the password.
func TestURLKeepsSecrets(t *testing.T) {
	t.Parallel()
	addr, owner := ownedServer(t)
	good, err := servers.NewURL(servers.Access{}, "redis://guest:"+secret+"@"+addr)
	must(t, err)
	d := start(t, good, alone)
	infos, err := d.Info(t.Context())
	must(t, err)
	must(t, owner.Do(t.Context(), "ACL", "DELUSER", "guest").Err())
	wrong := good.Available(t.Context())
	_, started := good.Start(t.Context(), alone)
	_, unread := servers.NewURL(servers.Access{}, "redis://guest:"+secret+"@ho st/x")
	_, scheme := servers.NewURL(servers.Access{}, "http://guest:"+secret+"@host")
	_, number := servers.NewURL(servers.Access{}, "redis://guest:"+secret+"@host/notanumber")
	for _, err := range []error{wrong, started, unread, scheme, number} {
		if err == nil {
			t.Error("no error")
		}
	}
	wantErr(t, "wrong password", wrong, servers.ErrMissing)
	for _, shown := range []any{good, d, infos, wrong, started, unread, scheme, number} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, shown); strings.Contains(text, secret) || strings.Contains(text, "guest:") {
				t.Errorf("%s of %T shows the login: %s", verb, shown, text)
			}
		}
	}
}

func TestURLShapes(t *testing.T) {
	t.Parallel()
	two, err := servers.NewURL(servers.Access{}, "redis://127.0.0.1:1", "rediss://127.0.0.1:2/3")
	must(t, err)
	if got, want := two.String(), "redis://127.0.0.1:1/0,rediss://127.0.0.1:2/3"; got != want {
		t.Errorf("String: %s, want %s", got, want)
	}
	rows := []struct {
		name string
		spec servers.Spec
	}{
		{"standalone on two servers", alone},
		{"a replicated pair", pair},
		{"a cluster", cluster},
		{"five masters on two servers", servers.Spec{Topology: impls.Independent, Nodes: 5}},
		{"clock faults", servers.Spec{Topology: impls.Independent, ClockFaults: true}},
		{"a memory limit", servers.Spec{Topology: impls.Independent, MaxMemory: 1}},
		{"persistence", servers.Spec{Topology: impls.Independent, Persistence: impls.PersistAlways}},
	}
	for _, row := range rows {
		_, err := two.Start(t.Context(), row.spec)
		wantErr(t, row.name, err, servers.ErrRefused)
	}
	if _, err := two.Start(t.Context(), servers.Spec{Topology: impls.Independent}); !errors.Is(err, servers.ErrMissing) {
		t.Errorf("no server at the address: %v", err)
	}
	if _, err := servers.NewURL(servers.Access{}); err == nil {
		t.Error("no URL at all was accepted")
	}
}

// A server that accepts connections and never replies does not block the run.
func TestURLSilentServer(t *testing.T) {
	t.Parallel()
	p := servers.NewProcess(servers.ProcessOptions{})
	need(t, p)
	d := start(t, p, alone)
	u, err := servers.NewURL(servers.Access{}, "redis://:x@"+d.Addr(0))
	must(t, err)
	must(t, d.Pause(t.Context(), 0))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	wantErr(t, "silent", u.Available(ctx), servers.ErrMissing)
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
}
