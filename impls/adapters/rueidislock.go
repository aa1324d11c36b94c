package adapters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// rueidisLock is rueidislock with a Redis client of its own, connected at the first acquire: to the
// first address, or to all nodes of a cluster, over which its keys are spread. Its Redis keys are
// the lock's key with a number and "lock".
type rueidisLock struct {
	env      impls.Env
	majority int32 // 0: the library's default, two of three keys
	locker   rueidislock.Locker
	held     *rueidisHold
}

// rueidisHold is one hold: the library's context, which ends with it, and its cancel function.
type rueidisHold struct {
	ctx       context.Context
	end       context.CancelFunc
	lost      chan struct{}
	releasing atomic.Bool
}

var _ impls.Lock = (*rueidisLock)(nil)

// rueidisName is the name of the lock under the prefix, which is the lock's key.
const rueidisName = "lock"

// openRueidislock keeps the library's defaults for a majority of 0: three keys, of which two must be
// held, renewed at half the lease.
func openRueidislock(majority int32) func(env impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) { return &rueidisLock{env: env, majority: majority}, nil }
}

func (l *rueidisLock) option(noCache bool) rueidislock.LockerOption {
	addrs, single := l.env.Addrs[:1], true
	if l.env.OnCluster() || l.env.Master != "" {
		addrs, single = l.env.Addrs, false
	}
	return rueidislock.LockerOption{
		KeyPrefix: l.env.Key, KeyValidity: l.env.Lease, KeyMajority: l.majority,
		ClientOption: rueidis.ClientOption{
			InitAddress: addrs, ForceSingleClient: single, Sentinel: rueidis.SentinelOption{MasterSet: l.env.Master, Dialer: net.Dialer{Timeout: rueidis.DefaultDialTimeout}}, DisableCache: noCache,
			// With client-side caching the library's connection always works in the background; do
			// the same without.
			AlwaysPipelining: noCache,
			RetryDelay:       l.retryDelay,
			// The library dials without a deadline and leaves it to the dialer to give up a node
			// that does not answer.
			DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, d.Timeout)
				defer cancel()
				return l.env.Dial(ctx, "tcp", addr)
			},
		},
	}
}

// retryDelay is the library's own delay, between 2^n and 2^(n+1) microseconds before try n and at
// most a second, but for where it comes from: the library draws it from the process's random
// source, here it follows from the client and its command.
func (l *rueidisLock) retryDelay(attempts int, cmd rueidis.Completed, _ error) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.env.Owner))                                 // a hash takes everything
	for _, word := range cmd.Commands()[:min(len(cmd.Commands()), 4)] { // a token follows the key
		_, _ = h.Write([]byte(word))
	}
	base := uint64(1) << min(attempts, 20)
	return min(time.Second, time.Duration(base+h.Sum64()%base)*time.Microsecond)
}

// Try is the library's TryWithContext.
func (l *rueidisLock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.lock(ctx, mode, func(life context.Context) (context.Context, context.CancelFunc, error) {
		return l.locker.TryWithContext(life, rueidisName)
	})
}

// Acquire is the library's WithContext.
func (l *rueidisLock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.lock(ctx, mode, func(life context.Context) (context.Context, context.CancelFunc, error) {
		return l.locker.WithContext(life, rueidisName)
	})
}

// lock calls the library with a context that ends with the caller's only until the grant: the
// library releases a lock when the context of its acquire ends.
func (l *rueidisLock) lock(ctx context.Context, mode history.Mode,
	ask func(life context.Context) (context.Context, context.CancelFunc, error)) (impls.Grant, error) {
	what := "acquire " + l.env.Key
	if err := exclusive(l.env, mode); err != nil {
		return impls.Grant{}, err
	}
	if l.held != nil && l.held.ctx.Err() == nil {
		return impls.Grant{}, named(what, impls.ErrBusy, errors.New("held by this handle"))
	}
	if l.locker == nil {
		locker, err := rueidislock.NewLocker(l.option(false))
		if errors.Is(err, rueidis.ErrNoCache) { // the server has no client-side caching: the library must poll
			locker, err = rueidislock.NewLocker(l.option(true))
		}
		if err != nil { // no lock has been asked for yet
			return impls.Grant{}, named("connect to "+l.env.Addrs[0], impls.ErrUnavailable, err)
		}
		l.locker = locker
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, end)
	held, release, err := ask(life)
	if err != nil || !detach() {
		end()
		if err == nil {
			release()
			err = ctx.Err()
		}
		return impls.Grant{}, rueidisRefusal(ctx, what, err)
	}
	// The library's context ends with a release as well as with a loss.
	h := &rueidisHold{ctx: held, end: func() { release(); end() }, lost: make(chan struct{})}
	context.AfterFunc(held, func() {
		if !h.releasing.Load() {
			close(h.lost)
		}
	})
	l.held = h
	return impls.Grant{ValidUntil: impls.UntilLost, Lost: l.held.lost}, nil
}

// rueidisRefusal classifies the error of an acquire. The library undoes the writes of a failed
// attempt before it returns, but does not report whether that worked; its own time-out for one
// request looks like the caller's.
func rueidisRefusal(ctx context.Context, what string, err error) error {
	switch {
	case errors.Is(err, rueidislock.ErrNotLocked):
		return named(what, impls.ErrBusy, err)
	case errors.Is(err, rueidislock.ErrLockerClosed):
		return named(what, impls.ErrUnavailable, err)
	case ctx.Err() != nil:
		return named(what, impls.ErrCancelled, err)
	}
	return named(what, impls.ErrUnknownOutcome, err)
}

// Extend is unsupported: the library extends by itself.
func (l *rueidisLock) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrUnsupported)
}

// Release ends the library's context and waits until it has deleted its keys, or has given up: it
// does not say which.
func (l *rueidisLock) Release(context.Context) error {
	if l.held == nil {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	h := l.held
	l.held = nil
	h.releasing.Store(true)
	err := h.ctx.Err()
	h.end()
	if err != nil {
		return named("release "+l.env.Key, impls.ErrLost, err)
	}
	return nil
}

// Close closes the library's connections and waits for what renews a hold. The library may still
// delete its keys before that.
func (l *rueidisLock) Close() error {
	if l.locker != nil {
		l.locker.Close()
	}
	if l.held != nil {
		l.held.end()
	}
	return nil
}
