package rw

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// protocol is what distinguishes the locks.
type protocol struct {
	// take acquires a hold. ok is false if refused.
	take func(ctx context.Context, env impls.Env, mode history.Mode) (h hold, ok bool, err error)
	// give releases a hold. ok is false if the server did not know it.
	give func(ctx context.Context, env impls.Env, h hold) (ok bool, err error)
}

func (p protocol) open(env impls.Env) (impls.Lock, error) { return &lock{env: env, how: p}, nil }

// hold is one grant.
type hold struct {
	mode  history.Mode
	mark  string    // this hold's value on the server, if holds have different ones
	until time.Time // by the client's clock; zero if the lock gives no validity
}

// lock is one client's handle.
type lock struct {
	env   impls.Env
	how   protocol
	holds []hold // innermost last
}

var _ impls.Lock = (*lock)(nil)

// Try makes one attempt, even if the client already holds: the server decides.
func (l *lock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	h, ok, err := l.how.take(ctx, l.env, mode)
	if err != nil {
		return impls.Grant{}, impls.Classify(l.what("acquire", mode), err)
	}
	if !ok {
		return impls.Grant{}, fmt.Errorf("%s: %w", l.what("acquire", mode), impls.ErrBusy)
	}
	l.holds = append(l.holds, h)
	return impls.Grant{ValidUntil: h.until}, nil
}

// Acquire polls: the articles do not describe waiting.
func (l *lock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return impls.PollUntilGranted(ctx, l.env, mode, l.Try)
}

// Extend is not in the articles.
func (l *lock) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrUnsupported)
}

// Release ends the innermost hold. It keeps the hold while the outcome is unknown, so that the
// caller may try again.
func (l *lock) Release(ctx context.Context) error {
	if len(l.holds) == 0 {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	last := len(l.holds) - 1
	h := l.holds[last]
	ok, err := l.how.give(ctx, l.env, h)
	if err != nil {
		return impls.Classify(l.what("release", h.mode), err)
	}
	l.holds = l.holds[:last]
	if !ok {
		return fmt.Errorf("%s: %w", l.what("release", h.mode), impls.ErrLost)
	}
	return nil
}

// Close has nothing to end.
func (l *lock) Close() error { return nil }

func (l *lock) what(verb string, mode history.Mode) string {
	return fmt.Sprintf("%s %s %s", verb, mode, l.env.Key)
}

// byMode is a pair of scripts, one for each mode.
type byMode struct{ shared, exclusive *impls.Script }

func scripts(shared, exclusive string) byMode {
	return byMode{impls.EmbeddedScript(lua, shared), impls.EmbeddedScript(lua, exclusive)}
}

func (b byMode) of(mode history.Mode) *impls.Script {
	if mode == history.Shared {
		return b.shared
	}
	return b.exclusive
}
