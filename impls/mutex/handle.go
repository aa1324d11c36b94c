package mutex

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// hold is one grant.
type hold struct {
	value string // what was stored under the key
	grant impls.Grant
}

// protocol is how a lock uses the server. Its functions are stateless and return errors of the
// Redis client, which the handle classifies.
type protocol struct {
	// acquire makes one attempt; false means refused.
	acquire func(ctx context.Context, env impls.Env) (hold, bool, error)
	// release ends a hold; false means that the server did not know it.
	release func(ctx context.Context, env impls.Env, h hold) (bool, error)
	// extend restarts the lease of a hold; false means that the server did not know it. nil:
	// unsupported.
	extend func(ctx context.Context, env impls.Env, h hold) (impls.Grant, bool, error)
}

func (p protocol) open(env impls.Env) (impls.Lock, error) {
	return &handle{env: env, how: p}, nil
}

// handle is one client's handle: a protocol and the current hold.
type handle struct {
	env  impls.Env
	how  protocol
	held *hold // nil: nothing is held
}

var _ impls.Lock = (*handle)(nil)

// Try makes one attempt.
func (l *handle) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	if mode == history.Shared {
		return impls.Grant{}, fmt.Errorf("acquire %s shared: %w", l.env.Key, impls.ErrUnsupported)
	}
	h, ok, err := l.how.acquire(ctx, l.env)
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, "acquire "+l.env.Key, err)
	}
	if !ok {
		return impls.Grant{}, fmt.Errorf("acquire %s: %w", l.env.Key, impls.ErrBusy)
	}
	l.held = &h
	return h.grant, nil
}

// Acquire polls.
func (l *handle) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return impls.PollUntilGranted(ctx, l.env, mode, l.Try)
}

// Extend restarts the lease, if the protocol can. It forgets a lost hold.
func (l *handle) Extend(ctx context.Context) (impls.Grant, error) {
	if l.how.extend == nil {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrUnsupported)
	}
	if l.held == nil {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	g, ok, err := l.how.extend(ctx, l.env, *l.held)
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, "extend "+l.env.Key, err)
	}
	if !ok {
		l.held = nil
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrLost)
	}
	l.held.grant = g
	return g, nil
}

// Release ends the hold. It keeps the hold while the outcome is unknown, so that the caller may try
// again.
func (l *handle) Release(ctx context.Context) error {
	if l.held == nil {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	ok, err := l.how.release(ctx, l.env, *l.held)
	if err != nil {
		return impls.ClassifyIn(ctx, "release "+l.env.Key, err)
	}
	l.held = nil
	if !ok {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrLost)
	}
	return nil
}

// Close does nothing: these locks have no background goroutines.
func (l *handle) Close() error { return nil }
