package reentrant

import (
	"errors"
	"sync"
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

// party is one client with its handle and what its lock reported.
type party struct {
	*redistest.Client
	lock impls.Lock
	env  impls.Env
	seen *renewals
}

// renewals collects what OnRenew is told.
type renewals struct {
	mu   sync.Mutex // protects list: a watchdog reports while the test reads
	list []impls.Renewal
}

func (r *renewals) add(x impls.Renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

func (r *renewals) take() []impls.Renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
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
	p := party{Client: c, env: env, seen: &renewals{}}
	p.env.OnRenew = p.seen.add
	for _, v := range Variants() {
		if v.Name == name {
			l, err := v.New(p.env)
			if err != nil {
				t.Fatalf("open %s: %v", name, err)
			}
			p.lock = l
		}
	}
	if p.lock == nil {
		t.Fatalf("no variant %q", name)
	}
	t.Cleanup(func() {
		if err := p.lock.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return p
}

func (p party) try(t *testing.T) (impls.Grant, error) {
	t.Helper()
	return p.lock.Try(t.Context(), history.Exclusive)
}

func (p party) hold(t *testing.T) impls.Grant {
	t.Helper()
	g, err := p.try(t)
	if err != nil {
		t.Fatalf("try: %v, want a grant", err)
	}
	return g
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
