package adapters

import (
	"context"
	"errors"
	"fmt"

	"github.com/bsm/redislock"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// redislockLock is bsm/redislock on the first node.
type redislockLock struct {
	env    impls.Env
	client *redislock.Client
	wait   func() redislock.RetryStrategy // of one waiting acquire; nil means the library's default
	held   *redislock.Lock
}

var _ impls.Lock = (*redislockLock)(nil)

// openRedislock keeps the library's default, which is not to wait.
func openRedislock(env impls.Env) (impls.Lock, error) {
	return &redislockLock{env: env, client: redislock.New(env.Redis())}, nil
}

// openRedislockNormalised tries at the poll interval until its context ends or the tries are used
// up. Without a deadline the library gives up after one lease.
func openRedislockNormalised(env impls.Env) (impls.Lock, error) {
	wait := func() redislock.RetryStrategy {
		every := redislock.LinearBackoff(env.PollInterval())
		if env.MaxTries == 0 {
			return every
		}
		return redislock.LimitRetry(every, env.MaxTries-1)
	}
	return &redislockLock{env: env, client: redislock.New(env.Redis()), wait: wait}, nil
}

// Try obtains without a retry.
func (l *redislockLock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.obtain(ctx, mode, nil)
}

// Acquire obtains with the variant's retries.
func (l *redislockLock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	if l.wait == nil {
		return l.obtain(ctx, mode, nil)
	}
	return l.obtain(ctx, mode, l.wait())
}

func (l *redislockLock) obtain(ctx context.Context, mode history.Mode, retry redislock.RetryStrategy) (impls.Grant, error) {
	if err := exclusive(l.env, mode); err != nil {
		return impls.Grant{}, err
	}
	what := "acquire " + l.env.Key
	token, err := impls.NewToken(l.env.Rand)
	if err != nil {
		return impls.Grant{}, named(what, impls.ErrUnavailable, err)
	}
	held, err := l.client.Obtain(ctx, l.env.Key, l.env.Lease, &redislock.Options{RetryStrategy: retry, Token: token})
	switch {
	case err == nil:
		l.held = held
		return impls.Grant{Token: held.Token()}, nil
	case errors.Is(err, redislock.ErrNotObtained) && retry != nil && impls.Ended(ctx):
		return impls.Grant{}, named(what, impls.ErrCancelled, err)
	case errors.Is(err, redislock.ErrNotObtained):
		return impls.Grant{}, named(what, impls.ErrBusy, err)
	}
	return impls.Grant{}, impls.ClassifyIn(ctx, what, err)
}

// Extend is the library's Refresh.
func (l *redislockLock) Extend(ctx context.Context) (impls.Grant, error) {
	what := "extend " + l.env.Key
	if l.held == nil {
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	err := l.held.Refresh(ctx, l.env.Lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		l.held = nil
		return impls.Grant{}, named(what, impls.ErrLost, err)
	}
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, what, err)
	}
	return impls.Grant{Token: l.held.Token()}, nil
}

// Release is the library's Release.
func (l *redislockLock) Release(ctx context.Context) error {
	what := "release " + l.env.Key
	if l.held == nil {
		return fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	err := l.held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		l.held = nil
		return named(what, impls.ErrLost, err)
	}
	if err == nil {
		l.held = nil
	}
	return impls.ClassifyIn(ctx, what, err)
}

// Close has nothing to end.
func (l *redislockLock) Close() error { return nil }
