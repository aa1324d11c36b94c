package rw

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease is short enough for real time; rw-hash respects a reader for a third of it.
const lease = 300 * time.Millisecond

// party is one client with its handle.
type party struct {
	*redistest.Client
	impls.Lock
}

// join opens a handle for a client of its own.
func join(t *testing.T, s *redistest.Server, name, owner string) party {
	t.Helper()
	c := s.Client(t)
	return party{c, open(t, name, c.Env(t, owner, lease))}
}

func open(t *testing.T, name string, env impls.Env) impls.Lock {
	t.Helper()
	for _, v := range Variants() {
		if v.Name == name {
			l, err := v.New(env)
			if err != nil {
				t.Fatalf("open %s: %v", name, err)
			}
			return l
		}
	}
	t.Fatalf("no variant %q", name)
	return nil
}

// asks is what a try must come to: nil for a grant, or the sentinel.
func (p party) asks(t *testing.T, what string, mode history.Mode, want error) {
	t.Helper()
	wantErr(t, what, errOf(p.Try(t.Context(), mode)), want)
}

func (p party) leaves(t *testing.T, what string, want error) {
	t.Helper()
	wantErr(t, what, p.Release(t.Context()), want)
}

func errOf(_ impls.Grant, err error) error { return err }

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// ahead is a clock that is off by a constant.
type ahead struct{ by time.Duration }

func (a ahead) Now() time.Time { return time.Now().Add(a.by) }
func (a ahead) Sleep(ctx context.Context, d time.Duration) error {
	return impls.SystemClock{}.Sleep(ctx, d)
}
