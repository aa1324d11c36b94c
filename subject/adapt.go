package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/patience"
)

// ErrShape: a value lacks the methods of a lock.
var ErrShape = errors.New("not a lock")

// tryShare: a Try of a lock that can only wait may last one tryShare-th of the lease.
const tryShare = 10

// Adapt gives a lock the interface of package impls. The lock needs Unlock and one of Lock and
// TryLock; an impls.Lock is returned as it is.
//
// If the lock has no TryLock, Try calls Lock with a limit of a tenth of the lease; when that runs
// out the lock counts as busy. If it has no Lock, Acquire calls TryLock every cfg.Poll. The same
// goes for RLock and TryRLock. An error that matches a sentinel of package impls is passed on; any
// other error of Unlock, RUnlock or Extend, unless it comes from the network, means that the hold
// was lost.
func Adapt(lock any, cfg Config) (impls.Lock, error) {
	if own, ok := lock.(impls.Lock); ok {
		return own, nil
	}
	a := &adapted{cfg: cfg, lock: lock}
	if a.exclusive, a.shared = sides(lock); a.exclusive.unlock == nil {
		return nil, fmt.Errorf("%T: %w: want Unlock(ctx) error and Lock(ctx) error or TryLock(ctx) (bool, error)", lock, ErrShape)
	}
	return a, nil
}

// TraitsOf returns what the methods of a lock show. The zero value is a lock with a lease and no
// other feature.
func TraitsOf(lock any) impls.Traits {
	_, extends := lock.(Extender)
	_, tokens := lock.(Tokener)
	_, fences := lock.(Fencer)
	_, valid := lock.(Validity)
	_, losses := lock.(LossNotifier)
	_, shared := sides(lock)
	return impls.Traits{Extends: extends, UniqueToken: tokens, Fenced: fences, Validity: valid,
		NotifiesLoss: losses, Shared: shared.unlock != nil}
}

// adapted is a lock with the interface of package impls.
type adapted struct {
	cfg       Config
	lock      any
	exclusive side
	shared    side
	modes     []history.Mode
	// patience has the contexts of the holds, to be ended with them.
	patience []*patience.Context
}

var _ impls.Lock = (*adapted)(nil)

// side returns a mode of the lock, or ErrUnsupported if it lacks the mode.
func (a *adapted) side(what string, mode history.Mode) (side, error) {
	s := a.exclusive
	if mode == history.Shared {
		s = a.shared
	}
	if s.unlock == nil {
		return s, fmt.Errorf("%s %s %s: %w", what, a.cfg.Key, mode, impls.ErrUnsupported)
	}
	return s, nil
}

func (a *adapted) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	s, err := a.side("try", mode)
	switch {
	case err != nil:
		return impls.Grant{}, err
	case s.try != nil:
		ok, err := s.try(ctx)
		if err == nil && !ok {
			err = impls.ErrBusy
		}
		return a.granted(ctx, "try", mode, err)
	}
	short := patience.New(ctx, a.cfg.TTL/tryShare)
	g, err := a.granted(short, "acquire", mode, s.wait(short))
	if err == nil {
		short.Keep() // a lock may tie its hold to the context of the acquire
		a.patience = append(a.patience, short)
		return g, nil
	}
	short.Cancel()
	if errors.Is(err, impls.ErrCancelled) && !impls.Ended(ctx) {
		err = fmt.Errorf("try %s: %w: %w", a.cfg.Key, impls.ErrBusy, err)
	}
	return g, err
}

func (a *adapted) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	s, err := a.side("acquire", mode)
	switch {
	case err != nil:
		return impls.Grant{}, err
	case s.wait != nil:
		return a.granted(ctx, "acquire", mode, s.wait(ctx))
	}
	env := impls.Env{Key: a.cfg.Key, Poll: a.cfg.Poll, Clock: impls.SystemClock{}}
	return impls.PollUntilGranted(ctx, env, mode, func(ctx context.Context, mode history.Mode) (impls.Grant, error) {
		ok, err := s.try(ctx)
		// A lock's own error, such as "already locked", is busy for an acquire that waits, and unknown
		// for a single attempt.
		own := err != nil && !network(err) && errors.Is(impls.Classify("try", err), impls.ErrUnknownOutcome)
		if err == nil && !ok || own {
			err = impls.ErrBusy
		}
		return a.granted(ctx, "try", mode, err)
	})
}

// granted turns the result of a lock's method into a grant or a classified error.
func (a *adapted) granted(ctx context.Context, what string, mode history.Mode, err error) (impls.Grant, error) {
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, what+" "+a.cfg.Key, err)
	}
	a.modes = append(a.modes, mode)
	return a.grant(), nil
}

func (a *adapted) grant() (g impls.Grant) {
	g.Token = a.Token()
	if l, ok := a.lock.(Fencer); ok {
		g.Fence = l.Fence()
	}
	if l, ok := a.lock.(LossNotifier); ok {
		g.Lost, g.ValidUntil = l.Lost(), impls.UntilLost
	}
	if l, ok := a.lock.(Validity); ok {
		g.ValidUntil = l.ValidUntil()
	}
	return g
}

// Token returns the token of the hold as the lock states it now; "" if it has none.
func (a *adapted) Token() string {
	if l, ok := a.lock.(Tokener); ok {
		return l.Token()
	}
	return ""
}

// Until returns the end of the hold as the lock states it now; false if it states none.
func (a *adapted) Until() (time.Time, bool) {
	if l, ok := a.lock.(Validity); ok {
		return l.ValidUntil(), true
	}
	return time.Time{}, false
}

func (a *adapted) Extend(ctx context.Context) (impls.Grant, error) {
	l, ok := a.lock.(Extender)
	if !ok {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", a.cfg.Key, impls.ErrUnsupported)
	}
	if err := l.Extend(ctx); err != nil {
		return impls.Grant{}, a.refused("extend", err)
	}
	return a.grant(), nil
}

// Release unlocks what this handle has locked, the innermost hold first. A release without a hold
// is passed on to the lock, which must refuse it.
func (a *adapted) Release(ctx context.Context) error {
	mode := history.Exclusive
	if n := len(a.modes); n > 0 {
		mode = a.modes[n-1]
	}
	return a.ReleaseMode(ctx, mode)
}

// forget ends the contexts of finished holds.
func (a *adapted) forget() {
	for _, p := range a.patience {
		p.Cancel()
	}
	a.patience = nil
}

// ReleaseMode ends a hold of one mode if the client may have both: the exclusive one, when a writer
// goes on as a reader.
func (a *adapted) ReleaseMode(ctx context.Context, mode history.Mode) error {
	s, err := a.side("release", mode)
	if err != nil {
		return err
	}
	if err = s.unlock(ctx); err != nil {
		err = a.refused("release", err)
	}
	for i, m := range slices.Backward(a.modes) {
		if m == mode {
			a.modes = slices.Delete(a.modes, i, i+1) // whatever the result, the client goes on without the hold
			break
		}
	}
	if len(a.modes) == 0 {
		a.forget()
	}
	return err
}

func (a *adapted) refused(what string, err error) error {
	known := impls.Classify(what+" "+a.cfg.Key, err)
	switch {
	case !errors.Is(known, impls.ErrUnknownOutcome), network(err):
		return known
	case len(a.modes) == 0:
		return fmt.Errorf("%s %s: %w: %w", what, a.cfg.Key, impls.ErrNotHeld, err)
	}
	return fmt.Errorf("%s %s: %w: %w", what, a.cfg.Key, impls.ErrLost, err)
}

// Close calls the lock's Close, if it has one, to end its background.
func (a *adapted) Close() error {
	a.forget()
	if c, ok := a.lock.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// network reports whether an error came from a connection or the end of a context, so that the
// outcome is unknown.
func network(err error) bool {
	return impls.ConnectionFailed(err) || errors.Is(err, impls.ErrUnknownOutcome) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// side is one mode of a lock.
type side struct {
	wait   func(context.Context) error         // nil: it can't wait
	try    func(context.Context) (bool, error) // nil: it can only wait
	unlock func(context.Context) error         // nil: the lock lacks the mode
}

func sides(lock any) (exclusive, shared side) {
	if l, ok := lock.(Locker); ok {
		exclusive.wait, exclusive.unlock = l.Lock, l.Unlock
	}
	if l, ok := lock.(TryLocker); ok {
		exclusive.try, exclusive.unlock = l.TryLock, l.Unlock
	}
	if l, ok := lock.(SharedLocker); ok {
		shared.wait, shared.unlock = l.RLock, l.RUnlock
	}
	if l, ok := lock.(SharedTryLocker); ok {
		shared.try, shared.unlock = l.TryRLock, l.RUnlock
	}
	return exclusive, shared
}
