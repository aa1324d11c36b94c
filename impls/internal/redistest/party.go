package redistest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Lease is short enough for real time and much longer than a round trip.
const Lease = 300 * time.Millisecond

// Handle is a test client's lock.
type Handle struct {
	impls.Lock
	In impls.Env // environment of the lock
}

// Open opens a handle, which is closed with the test.
func Open(t testing.TB, v impls.Variant, env impls.Env) Handle {
	t.Helper()
	l, err := v.New(env)
	if err != nil {
		t.Fatalf("open %s: %v", v.Name, err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close %s: %v", v.Name, err)
		}
	})
	return Handle{Lock: l, In: env}
}

// Ask tries once, for the exclusive mode.
func (h Handle) Ask(t testing.TB) (impls.Grant, error) {
	t.Helper()
	return h.Try(t.Context(), history.Exclusive)
}

// Hold acquires and must be granted.
func (h Handle) Hold(t testing.TB) impls.Grant {
	t.Helper()
	g, err := h.Ask(t)
	if err != nil {
		t.Fatalf("try: %v, want a grant", err)
	}
	return g
}

// Asks makes one attempt, whose error must match want; nil for a grant.
func (h Handle) Asks(t testing.TB, what string, mode history.Mode, want error) impls.Grant {
	t.Helper()
	g, err := h.Try(t.Context(), mode)
	WantErr(t, what, err, want)
	return g
}

// Leaves releases; the error must match want.
func (h Handle) Leaves(t testing.TB, what string, want error) {
	t.Helper()
	WantErr(t, what, h.Release(t.Context()), want)
}

// Outcome is what became of a wait, and when.
type Outcome struct {
	Grant impls.Grant
	Err   error
	At    time.Time
}

// Waits acquires in the background.
func (h Handle) Waits(ctx context.Context, mode history.Mode) <-chan Outcome {
	out := make(chan Outcome, 1)
	go func() {
		g, err := h.Acquire(ctx, mode)
		out <- Outcome{g, err, time.Now()}
	}()
	return out
}

// Party is one client with its handle.
type Party struct {
	*Client
	Handle
}

// Join opens a handle for a new client.
func (s *Server) Join(t testing.TB, v impls.Variant, owner string, lease time.Duration) Party {
	t.Helper()
	c := s.Client(t)
	return c.Open(t, v, c.Env(t, owner, lease))
}

// Open opens a handle of this client in an environment that the test may have changed.
func (c *Client) Open(t testing.TB, v impls.Variant, env impls.Env) Party {
	t.Helper()
	return Party{Client: c, Handle: Open(t, v, env)}
}

// Find returns the variant of that name.
func Find(t testing.TB, variants []impls.Variant, name string) impls.Variant {
	t.Helper()
	for _, v := range variants {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variant %q", name)
	return impls.Variant{}
}

// WantErr fails the test unless err matches want; a want of nil is no error.
func WantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
