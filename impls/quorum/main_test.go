package quorum

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

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
	redistest.Handle
	to []*redistest.Client
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
	env := p.to[0].Env(t, owner, lease)
	env.Nodes = clients
	if change != nil {
		change(&env)
	}
	p.Handle = redistest.Open(t, impls.Variant{Name: "redlock", New: open}, env)
	return p
}

// keys reports for each node whether it has the lock's key.
func (p party) keys(t *testing.T, servers []*redistest.Server) []bool {
	t.Helper()
	out := make([]bool, len(servers))
	for i, s := range servers {
		out[i] = s.Live.Do("EXISTS", p.In.Key) == "1"
	}
	return out
}
