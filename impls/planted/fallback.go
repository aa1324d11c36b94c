package planted

import (
	"context"
	"errors"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// fallback is a client that takes "busy" for a failure of the server and falls back to a lock
// within its own process.
type fallback struct {
	impls.Lock
	env   impls.Env
	local bool // the hold is that of the process's own lock
}

// Try tries the server, and grants locally when the server refuses.
func (f *fallback) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	g, err := f.Lock.Try(ctx, mode)
	if !errors.Is(err, impls.ErrBusy) {
		return g, err
	}
	token, err := impls.NewToken(f.env.Rand)
	if err != nil {
		return impls.Grant{}, err
	}
	f.local = true
	return impls.Grant{Token: token, ValidUntil: f.env.Clock.Now().Add(f.env.Lease)}, nil
}

// Acquire never waits: there is always an answer.
func (f *fallback) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return f.Try(ctx, mode)
}

// Release ends whichever hold it is.
func (f *fallback) Release(ctx context.Context) error {
	if !f.local {
		return f.Lock.Release(ctx)
	}
	f.local = false
	return nil
}
