package quorum

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = time.Second

// nodes makes n virtual masters.
func nodes(t *testing.T, n int) []*redistest.Server {
	t.Helper()
	out := make([]*redistest.Server, n)
	for i := range out {
		out[i] = redistest.NewVirtual(t)
	}
	return out
}

// party is one client of all masters with its handle.
type party struct {
	to   []*redistest.Client
	lock impls.Lock
	env  impls.Env
}

func join(t *testing.T, servers []*redistest.Server, owner string) party {
	t.Helper()
	return joinWith(t, servers, owner, nil)
}

// joinWith opens a handle with a changed environment.
func joinWith(t *testing.T, servers []*redistest.Server, owner string, change func(*impls.Env)) party {
	t.Helper()
	var p party
	var clients []redis.UniversalClient
	for _, s := range servers {
		c := s.Client(t)
		p.to = append(p.to, c)
		clients = append(clients, c.Redis)
	}
	p.env = p.to[0].Env(t, owner, lease)
	p.env.Nodes = clients
	if change != nil {
		change(&p.env)
	}
	l, err := open(p.env)
	if err != nil {
		t.Fatal(err)
	}
	p.lock = l
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
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

// keys says for each node whether the lock's key is there.
func (p party) keys(t *testing.T, servers []*redistest.Server) []bool {
	t.Helper()
	out := make([]bool, len(servers))
	for i, s := range servers {
		out[i] = s.Mini.Exists(p.env.Key)
	}
	return out
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
