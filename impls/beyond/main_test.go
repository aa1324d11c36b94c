package beyond

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = redistest.Lease

const (
	read  = history.Shared
	write = history.Exclusive
)

func join(t testing.TB, s *redistest.Server, name, owner string) redistest.Party {
	t.Helper()
	return joinWith(t, s, name, owner, func(*impls.Env) {})
}

// joinWith opens a handle for a client of its own in a changed environment.
func joinWith(t testing.TB, s *redistest.Server, name, owner string, change func(*impls.Env)) redistest.Party {
	t.Helper()
	c := s.Client(t)
	env := c.Env(t, owner, lease)
	change(&env)
	return c.Open(t, redistest.Find(t, Variants(), name), env)
}

// each runs a test for every variant, on miniredis and on redis-server.
func each(t *testing.T, test func(t *testing.T, s *redistest.Server, v impls.Variant)) {
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			redistest.Both(t, func(t *testing.T, s *redistest.Server) { test(t, s, v) })
		})
	}
}

// eachVirtual runs a test for every variant in virtual time.
func eachVirtual(t *testing.T, test func(t *testing.T, s *redistest.Server, v impls.Variant)) {
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			redistest.Virtual(t, func(t *testing.T, s *redistest.Server) { test(t, s, v) })
		})
	}
}
