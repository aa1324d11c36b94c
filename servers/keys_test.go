package servers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// secondKey is a lock whose script creates a second key.
type secondKey struct{}

func (secondKey) Derived(keys, _ []string) (all []string) {
	for _, key := range keys {
		all = append(all, key+":second")
	}
	return all
}

// Close deletes the keys that requests name under the run's prefix, wherever they stand in a
// request, and those that scripts make without naming them, if the lock derives them. Nothing scans
// for keys.
func TestURLDeletesByName(t *testing.T) {
	t.Parallel()
	addr, owner := ownedServer(t)
	ctx := t.Context()
	must(t, owner.Do(ctx, "ACL", "SETUSER", "guest", "-scan", "-keys").Err())
	u, err := servers.NewURL(servers.Access{}, "redis://guest:"+secret+"@"+addr+"/2")
	must(t, err)
	d := start(t, u, servers.Spec{Prefix: "lb:", Derives: secondKey{}})
	c := client(t, d, 0)
	for _, request := range [][]any{
		{"SET", "lb:plain", "lb:value"},
		{"SET", "{lb:tag}:queue", 1},
		{"MSET", "lb:a", 1, "lb:b", 2},
		{"XADD", "lb:stream", "*", "f", "v"},
		{"EVAL", "return redis.call('SET', ARGV[1], 1)", 0, "lb:undeclared"},
		{"EVAL", "return redis.call('SET', KEYS[1] .. ':second', 1)", 1, "lb:first"},
		{"SORT", "lb:list", "STORE", "lb:sorted"},
	} {
		must(t, c.Do(ctx, request...).Err())
	}
	keys, err := d.Keys(ctx, 0, "lb:")
	must(t, err)
	if want := []string{"lb:a", "lb:b", "lb:first:second", "lb:plain", "lb:stream", "lb:undeclared", "{lb:tag}:queue"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	must(t, owner.Set(ctx, "lb:somebody else's", 1, 0).Err())
	must(t, d.Close())
	if left := owner.Keys(ctx, "*").Val(); !slices.Equal(slices.Sorted(slices.Values(left)), []string{"lb:somebody else's", "salary"}) {
		t.Errorf("left: %q", left)
	}
	must(t, d.Close()) // closing again has no effect
}

// If the server denies DEL, the error says that keys are left and names their prefix.
func TestURLNamesLeftKeys(t *testing.T) {
	t.Parallel()
	addr, owner := ownedServer(t)
	u, err := servers.NewURL(servers.Access{}, "redis://guest:"+secret+"@"+addr+"/2")
	must(t, err)
	d, err := u.Start(t.Context(), servers.Spec{Topology: impls.Standalone, Prefix: "lb:"})
	must(t, err)
	set(t, d, 0, "lb:k", 0)
	must(t, owner.Do(t.Context(), "ACL", "SETUSER", "guest", "-del").Err())
	if _, err := u.Start(t.Context(), servers.Spec{Topology: impls.Standalone, Prefix: "lb:"}); !errors.Is(err, servers.ErrRefused) || strings.Contains(err.Error(), secret) {
		t.Errorf("start of a run that may not delete its keys: %v, want that the server refuses", err)
	}
	err = d.Close()
	if err == nil || !strings.Contains(err.Error(), "keys that begin with lb: are left") || strings.Contains(err.Error(), secret) {
		t.Errorf("close: %v", err)
	}
	if !errors.Is(err, servers.ErrRefused) || errors.Is(err, servers.ErrLost) { // it answered
		t.Errorf("close: %v, want that the server refuses", err)
	}
}
