package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/lockbench/lockbench/subject"
)

// valkeyLock is valkeylock with one key. The context of a hold ends with the hold.
type valkeyLock struct {
	cfg    subject.Config
	locker valkeylock.Locker
	end    context.CancelFunc
	lost   chan struct{}
}

func newValkeyLock(c subject.Config) (any, error) { return &valkeyLock{cfg: c}, nil }

func (l *valkeyLock) connect() (err error) {
	if l.locker != nil {
		return nil
	}
	l.locker, err = valkeylock.NewLocker(valkeylock.LockerOption{KeyPrefix: l.cfg.Key, KeyValidity: l.cfg.TTL, KeyMajority: 1,
		NoLoopTracking: true,          // otherwise a waiter costs thousands of requests a second, as with rueidislock
		TryNextAfter:   l.cfg.TTL / 2, // the default of 20 ms is too short for a busy machine
		ClientOption: valkey.ClientOption{InitAddress: l.cfg.Addrs[:1], ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, d.Timeout)
				defer cancel()
				return l.cfg.Dial(ctx, "tcp", addr)
			}}})
	return err
}

func (l *valkeyLock) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, func(ctx context.Context) (context.Context, context.CancelFunc, error) {
		return l.locker.WithContext(ctx, "lock")
	})
	return err
}

func (l *valkeyLock) TryLock(ctx context.Context) (bool, error) {
	return l.acquire(ctx, func(ctx context.Context) (context.Context, context.CancelFunc, error) {
		return l.locker.TryWithContext(ctx, "lock")
	})
}

// acquire calls the library with a context that ends with the caller's only until the grant: the
// library releases a lock when that context ends.
func (l *valkeyLock) acquire(ctx context.Context, call func(context.Context) (context.Context, context.CancelFunc, error)) (bool, error) {
	if err := l.connect(); err != nil {
		return false, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, end)
	held, release, err := call(life)
	if err != nil || !detach() {
		end()
		if errors.Is(err, valkeylock.ErrNotLocked) && ctx.Err() == nil {
			return false, nil
		}
		return false, errors.Join(err, ctx.Err())
	}
	lost := make(chan struct{})
	var once sync.Once
	quiet := context.AfterFunc(held, func() { once.Do(func() { close(lost) }) })
	l.lost, l.end = lost, func() { quiet(); release(); end() }
	return true, nil
}

func (l *valkeyLock) Lost() <-chan struct{} { return l.lost }

func (l *valkeyLock) Unlock(context.Context) error {
	if l.end == nil {
		return errors.New("not held")
	}
	var err error
	select {
	case <-l.lost:
		err = errors.New("lost")
	default:
	}
	l.end()
	l.end = nil
	return err
}

func (l *valkeyLock) Close() error {
	if l.locker != nil {
		l.locker.Close()
	}
	return nil
}

func (l *valkeyLock) Describe() subject.Description {
	return subject.Description{Name: "valkeylock", Can: []string{"renew", "wakeups"}}
}
