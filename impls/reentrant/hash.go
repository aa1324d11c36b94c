package reentrant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// hashProtocol is how one variant keeps its hash of owner and count.
type hashProtocol struct {
	// acquire makes one attempt. If refused, left is how long the current hold may last; 0 if not
	// known.
	acquire func(ctx context.Context, env impls.Env, owner string) (ok bool, left time.Duration, err error)
	release func(ctx context.Context, env impls.Env, owner string) (released, error)
	// renew restarts the lease; false: the owner does not hold. nil: the variant cannot.
	renew func(ctx context.Context, env impls.Env, owner string) (bool, error)
	// watched means that a watchdog renews every third of the lease.
	watched bool
	// woken means that waiters subscribe to releases instead of polling.
	woken bool
}

// released is the result of a release.
type released int

const (
	foreign released = iota // the owner does not hold
	inner                   // the owner still holds
	outer                   // the last hold ended
)

// hashLock is one client's handle. It counts its grants only to start and stop the watchdog; the
// server decides who holds.
type hashLock struct {
	env    impls.Env
	how    hashProtocol
	owner  string
	depth  int
	unsure bool      // the reply to the outermost release was lost: it may be sent again
	watch  *watchdog // nil: not running
	ended  sync.WaitGroup
}

var _ impls.Lock = (*hashLock)(nil)

// open makes handles whose owner is the client's own id, as the sources use a thread's name.
func (p hashProtocol) open(env impls.Env) (impls.Lock, error) {
	return &hashLock{env: env, how: p, owner: env.Owner}, nil
}

// openUnique makes handles whose owner is unique even if two clients have one id, by a random
// prefix, as the source's library gives each of its instances.
func (p hashProtocol) openUnique(env impls.Env) (impls.Lock, error) {
	instance, err := impls.NewToken(env.Rand)
	if err != nil {
		return nil, err
	}
	return &hashLock{env: env, how: p, owner: instance + ":" + env.Owner}, nil
}

// Try makes one attempt.
func (l *hashLock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	g, _, err := l.ask(ctx, mode)
	return g, err
}

// ask is Try that also returns how long the current hold may last.
func (l *hashLock) ask(ctx context.Context, mode history.Mode) (impls.Grant, time.Duration, error) {
	if mode == history.Shared {
		return impls.Grant{}, 0, fmt.Errorf("acquire %s shared: %w", l.env.Key, impls.ErrUnsupported)
	}
	ok, left, err := l.how.acquire(ctx, l.env, l.owner)
	if err != nil {
		return impls.Grant{}, 0, impls.ClassifyIn(ctx, "acquire "+l.env.Key, err)
	}
	if !ok {
		return impls.Grant{}, left, fmt.Errorf("acquire %s: %w", l.env.Key, impls.ErrBusy)
	}
	l.depth++
	l.unsure = false
	if !l.how.watched {
		return impls.Grant{}, 0, nil
	}
	if l.watch == nil || l.watch.over() {
		renew := func(ctx context.Context) (bool, error) { return l.how.renew(ctx, l.env, l.owner) }
		l.watch = &watchdog{env: l.env, renew: renew, lost: make(chan struct{})}
		l.watch.ctx, l.watch.stop = context.WithCancel(context.Background()) // ended by the hold, not by the call that was granted
		l.ended.Go(l.watch.run)
	}
	return impls.Grant{Lost: l.watch.lost}, 0, nil
}

// Acquire polls. A lock that wakes its waiters subscribes to releases instead and waits at most as
// long as the current hold may last. It wakes when the subscription begins, so that an earlier
// release is not missed.
func (l *hashLock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	if !l.how.woken {
		return impls.PollUntilGranted(ctx, l.env, mode, l.Try)
	}
	if ctx.Err() != nil {
		return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrCancelled, ctx.Err())
	}
	g, left, err := l.ask(ctx, mode)
	if err == nil || !errors.Is(err, impls.ErrBusy) {
		return g, err
	}
	ear := impls.Listen(ctx, l.env.Redis(), l.env.Clock, channel(l.env), l.env.PollInterval())
	defer ear.Close()
	for errors.Is(err, impls.ErrBusy) {
		// The reply for a hold that ends within this millisecond is 0.
		if err := ear.Sleep(ctx, max(left, time.Millisecond)); err != nil {
			return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrCancelled, err)
		}
		g, left, err = l.ask(ctx, mode)
	}
	return g, err
}

// Extend restarts the lease by the watchdog's own script.
func (l *hashLock) Extend(ctx context.Context) (impls.Grant, error) {
	if l.how.renew == nil {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrUnsupported)
	}
	if l.depth == 0 {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	ok, err := l.how.renew(ctx, l.env, l.owner)
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, "extend "+l.env.Key, err)
	}
	if !ok {
		l.forget()
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrLost)
	}
	g := impls.Grant{}
	if l.watch != nil {
		g.Lost = l.watch.lost
	}
	return g, nil
}

// Release ends the innermost hold. It stops the watchdog before it sends the outermost release, so
// that after a failed one the lease ends.
func (l *hashLock) Release(ctx context.Context) error {
	if l.depth == 0 && !l.unsure {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	if l.depth <= 1 {
		l.stopWatch()
	}
	found, err := l.how.release(ctx, l.env, l.owner)
	if err != nil {
		// The outcome is unknown. It counts as done, or a watchdog would outlive the release around it
		// or the next hold. The outermost may be repeated.
		if l.depth > 0 {
			l.depth--
			l.unsure = l.depth == 0
		}
		return impls.ClassifyIn(ctx, "release "+l.env.Key, err)
	}
	l.unsure = false
	if found == foreign {
		l.forget()
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrLost)
	}
	l.depth = max(l.depth-1, 0)
	if found == outer {
		l.stopWatch()
	}
	return nil
}

// forget drops the hold.
func (l *hashLock) forget() {
	l.depth, l.unsure = 0, false
	l.stopWatch()
}

func (l *hashLock) stopWatch() {
	if l.watch != nil {
		l.watch.stop()
		l.watch = nil
	}
}

// Close ends the watchdog and waits for it.
func (l *hashLock) Close() error {
	l.stopWatch()
	l.ended.Wait()
	return nil
}
