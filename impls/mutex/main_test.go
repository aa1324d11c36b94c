package mutex

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = redistest.Lease

// variant finds a variant of the family.
func variant(t *testing.T, name string) impls.Variant {
	t.Helper()
	return redistest.Find(t, append(Variants(), ServerVariants()...), name)
}

// join opens a handle for a client of its own.
func join(t *testing.T, s *redistest.Server, name, owner string) redistest.Party {
	t.Helper()
	return s.Join(t, variant(t, name), owner, lease)
}

// open opens a handle with a changed environment.
func open(t *testing.T, c *redistest.Client, name string, env impls.Env) redistest.Party {
	t.Helper()
	return c.Open(t, variant(t, name), env)
}
