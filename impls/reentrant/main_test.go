package reentrant

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = redistest.Lease

// party is one client with its handle and the renewals that its lock reported.
type party struct {
	redistest.Party
	seen *renewals
}

// renewals collects the calls of OnRenew.
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

// join opens a handle for a new client.
func join(t *testing.T, s *redistest.Server, name, owner string) party {
	t.Helper()
	c := s.Client(t)
	return open(t, c, name, c.Env(t, owner, lease))
}

// open opens a handle with a changed environment.
func open(t *testing.T, c *redistest.Client, name string, env impls.Env) party {
	t.Helper()
	seen := &renewals{}
	env.OnRenew = seen.add
	return party{c.Open(t, redistest.Find(t, Variants(), name), env), seen}
}
