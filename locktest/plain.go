package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Locker is a lock as most libraries have it: Lock waits until it is granted or ctx ends, Unlock gives it back.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// Plain makes a New of a constructor of plain locks, one for each client. env gives the connection (env.Redis()), the key, the
// lease and the poll interval to use.
//
// A try is a Lock that may last a tenth of a lease; one that runs out of that time is taken for busy, since a plain lock does not
// say. An error of Unlock is taken for a hold that was lost. An error that matches a sentinel of package impls is left as it is.
func Plain(newLocker func(env impls.Env) (Locker, error)) New {
	return func(env impls.Env) (impls.Lock, error) {
		if err := env.CheckLease(); err != nil {
			return nil, err
		}
		l, err := newLocker(env)
		if err != nil {
			return nil, err
		}
		return &plain{env: env, locker: l}, nil
	}
}

// plain is a Locker behind the contract of package impls.
type plain struct {
	env    impls.Env
	locker Locker
	held   bool
}

var _ impls.Lock = (*plain)(nil)

// Try locks with little patience.
func (p *plain) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	short, cancel := context.WithTimeout(ctx, p.env.Lease/10)
	defer cancel()
	g, err := p.Acquire(short, mode)
	if errors.Is(err, impls.ErrCancelled) && !ended(ctx) {
		err = fmt.Errorf("try %s: %w", p.env.Key, impls.ErrBusy)
	}
	return g, err
}

// Acquire locks.
func (p *plain) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	if mode == history.Shared {
		return impls.Grant{}, fmt.Errorf("acquire %s shared: %w", p.env.Key, impls.ErrUnsupported)
	}
	err := p.locker.Lock(ctx)
	switch {
	case err == nil:
		p.held = true
		return impls.Grant{}, nil
	case ended(ctx):
		return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", p.env.Key, impls.ErrCancelled, err)
	}
	return impls.Grant{}, impls.Classify("acquire "+p.env.Key, err)
}

// ended tells whether ctx is over. At the very instant of a deadline the Redis client may time out before the context does.
func ended(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && time.Until(deadline) <= 0
}

// Extend is not for plain locks.
func (p *plain) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, fmt.Errorf("extend %s: %w", p.env.Key, impls.ErrUnsupported)
}

// Release unlocks what this handle has locked.
func (p *plain) Release(ctx context.Context) error {
	if !p.held {
		return fmt.Errorf("release %s: %w", p.env.Key, impls.ErrNotHeld)
	}
	err := p.locker.Unlock(ctx)
	if err == nil {
		p.held = false
		return nil
	}
	if known := impls.Classify("release "+p.env.Key, err); !errors.Is(known, impls.ErrUnknownOutcome) {
		return known
	}
	return fmt.Errorf("release %s: %w: %w", p.env.Key, impls.ErrLost, err)
}

// Close has nothing to end.
func (p *plain) Close() error { return nil }
