package rw

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease is the tests' lease; rw-hash respects a reader for a third of it.
const lease = redistest.Lease

// join opens a handle for a client of its own.
func join(t *testing.T, s *redistest.Server, name, owner string) redistest.Party {
	t.Helper()
	return s.Join(t, redistest.Find(t, Variants(), name), owner, lease)
}

func errOf(_ impls.Grant, err error) error { return err }
