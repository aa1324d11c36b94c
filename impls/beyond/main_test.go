package beyond

import (
	"context"
	"testing"
	"time"

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

// party is one client with its handle.
type party struct{ redistest.Party }

func join(t testing.TB, s *redistest.Server, name, owner string) party {
	t.Helper()
	return joinWith(t, s, name, owner, func(*impls.Env) {})
}

// joinWith opens a handle for a client of its own in a changed environment.
func joinWith(t testing.TB, s *redistest.Server, name, owner string, change func(*impls.Env)) party {
	t.Helper()
	c := s.Client(t)
	env := c.Env(t, owner, lease)
	change(&env)
	return party{c.Open(t, redistest.Find(t, Variants(), name), env)}
}

// waits acquires in the background; the channel gives the error and when it came.
func (p party) waits(t testing.TB, ctx context.Context, mode history.Mode) <-chan outcome {
	t.Helper()
	out := make(chan outcome, 1)
	go func() {
		g, err := p.Acquire(ctx, mode)
		out <- outcome{g, err, time.Now()}
	}()
	return out
}

type outcome struct {
	grant impls.Grant
	err   error
	at    time.Time
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
