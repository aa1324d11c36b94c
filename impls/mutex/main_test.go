package mutex

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease is short enough for real time and long beside one round trip.
const lease = 300 * time.Millisecond

// variant finds a variant of the family.
func variant(t *testing.T, name string) impls.Variant {
	t.Helper()
	for _, v := range append(Variants(), ServerVariants()...) {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variant %q", name)
	return impls.Variant{}
}

// party is one client with its handle.
type party struct {
	*redistest.Client
	lock impls.Lock
	env  impls.Env
}

// join opens a handle for a client of its own.
func join(t *testing.T, s *redistest.Server, name, owner string) party {
	t.Helper()
	c := s.Client(t)
	return open(t, c, name, c.Env(t, owner, lease))
}

// open opens a handle with a changed environment.
func open(t *testing.T, c *redistest.Client, name string, env impls.Env) party {
	t.Helper()
	l, err := variant(t, name).New(env)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return party{Client: c, lock: l, env: env}
}

// try asks once, for the exclusive mode.
func (p party) try(t *testing.T) (impls.Grant, error) {
	t.Helper()
	return p.lock.Try(t.Context(), history.Exclusive)
}

// hold asks once and must be granted.
func (p party) hold(t *testing.T) impls.Grant {
	t.Helper()
	g, err := p.try(t)
	if err != nil {
		t.Fatalf("try: %v, want a grant", err)
	}
	return g
}

// granted are the variants that grant at all.
func granted() []impls.Variant {
	var out []impls.Variant
	for _, v := range Variants() {
		if v.Name != "lua-nil" {
			out = append(out, v)
		}
	}
	return out
}
