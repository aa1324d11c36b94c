package reentrant

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

var (
	localReleaseScript = impls.EmbeddedScript(lua, "local_release.lua")
	localRenewScript   = impls.NewLeaseScript(impls.EmbeddedScript(lua, "local_renew.lua"))
)

// localLock counts in the client and uses the server only for the outermost hold: a client with a
// count re-enters even if the key is gone.
type localLock struct {
	env   impls.Env
	count int
	value string // of the present hold
	// renewing is the state of the source's lock object, one flag for all its keys: unlocking any
	// key clears it and ends the renewals of all; nil: never renews
	renewing *atomic.Bool
	loops    sync.WaitGroup // the renewals, ended by Close
	ctx      context.Context
	cancel   context.CancelFunc
}

var _ impls.Lock = (*localLock)(nil)

// openLocal makes handles that renew, at most four times, while their object's flag is up; or that
// never do.
func openLocal(renews bool) func(env impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		l := &localLock{env: env}
		if renews {
			l.renewing = env.Shared.Get("watchdog-bounded", func() any { return &atomic.Bool{} }).(*atomic.Bool)
		}
		l.ctx, l.cancel = context.WithCancel(context.Background()) // ended by Close
		return l, nil
	}
}

// Try increments a positive count, and otherwise acquires the outermost hold on the server.
func (l *localLock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	what := "acquire " + l.env.Key
	if mode == history.Shared {
		return impls.Grant{}, fmt.Errorf("%s shared: %w", what, impls.ErrUnsupported)
	}
	if l.count > 0 {
		l.count++
		return impls.Grant{Token: l.value}, nil
	}
	value, err := impls.NewToken(l.env.Rand)
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, what, fmt.Errorf("%w: %w", impls.ErrUnavailable, err))
	}
	ok, err := impls.SetMissing(ctx, l.env, value)
	if err == nil && !ok {
		err = impls.ErrBusy
	}
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, what, err)
	}
	l.count, l.value = 1, value
	if l.renewing != nil {
		l.renewing.Store(true)
		l.loops.Go(func() { l.renewBounded(l.ctx, value) })
	}
	return impls.Grant{Token: value}, nil
}

// maxRenewals is how often the source renews one hold.
const maxRenewals = 4

// renewBounded is the source's loop: renew at once, then sleep a whole lease, so that the renewal
// comes after the lease. It reads the flag only between two sleeps, so a loop may outlive its hold
// and see the flag of the next.
//
// As in the source, a missing key is not an error. After a failed renewal the source tries again at
// once, without end; here it waits for one poll interval.
func (l *localLock) renewBounded(ctx context.Context, value string) {
	for n := 0; n < maxRenewals && l.renewing.Load(); {
		call := l.env.Clock.Now()
		ok, err := impls.Yes(localRenewScript.Run(ctx, l.env, value))
		if ctx.Err() == nil && l.env.OnRenew != nil {
			r := renewal(l.env, call, ok, err)
			r.Token = value
			l.env.OnRenew(r)
		}
		pause := l.env.PollInterval()
		if err == nil {
			n++
			pause = l.env.Lease
		}
		if l.env.Clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// Acquire polls.
func (l *localLock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return impls.PollUntilGranted(ctx, l.env, mode, l.Try)
}

// Extend is not in the source.
func (l *localLock) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrUnsupported)
}

// Release decrements the count. At zero it clears the flag of the renewals, compares and deletes,
// and ignores the reply, as printed: releasing a lost hold is no error, and a lost release cannot
// be repeated.
func (l *localLock) Release(ctx context.Context) error {
	if l.count == 0 {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	l.count--
	if l.count > 0 {
		return nil
	}
	if l.renewing != nil {
		l.renewing.Store(false)
	}
	_, err := impls.Yes(localReleaseScript.Run(ctx, l.env.Redis(), []string{l.env.Key}, l.value))
	return impls.ClassifyIn(ctx, "release "+l.env.Key, err)
}

// Close ends the renewals and waits for them.
func (l *localLock) Close() error {
	l.cancel()
	l.loops.Wait()
	return nil
}
