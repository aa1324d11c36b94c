package beyond

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// minLease is the shortest accepted lease: rounding to milliseconds and drift leave too little of a
// shorter one.
const minLease = 10 * time.Millisecond

// lock is one client's handle.
type lock struct {
	env   impls.Env
	how   protocol
	keys  []string
	wakes string // the prefix of its channels
	holds []hold // Extend and Release apply to the last; only a semaphore has more than one

	// blocked is a connection of its own for waiters that block on a list; nil until one does. A
	// blocked request can be cancelled only by closing its connection.
	blocked *redis.Client
}

var _ impls.Lock = (*lock)(nil)

// hold is a grant that has not been released.
type hold struct {
	token string
	mode  history.Mode
	until time.Time // by the client's clock
	doubt bool      // a release was sent and its reply lost
}

// request is one Try or Acquire. All its attempts have the same token.
type request struct {
	token string
	mode  history.Mode
	waits bool
	until time.Time // validity of a grant since the last attempt, by the client's clock
	doubt bool      // a reply was lost: the token may hold the lock
	place bool      // a release may grant the lock to it without asking
	ear   *impls.Listener
}

// errTooLate means that the reply came after the validity of the grant, which the acquire has
// withdrawn.
var errTooLate = fmt.Errorf("the reply came after the end of the lease: %w", impls.ErrUnavailable)

func (p protocol) open(env impls.Env) (impls.Lock, error) {
	if env.Lease < minLease {
		return nil, fmt.Errorf("lease %v: want at least %v", env.Lease, minLease)
	}
	keys := []string{env.Key, impls.Derived(env.Key, fenceKey)}
	for _, s := range p.suffixes {
		keys = append(keys, impls.Derived(env.Key, s))
	}
	return &lock{env: env, how: p, keys: keys, wakes: impls.Derived(env.Key, wakeSuffix)}, nil
}

// Try makes one attempt.
func (l *lock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	r, err := l.request(mode, false)
	if err != nil {
		return impls.Grant{}, err
	}
	g, _, err := l.ask(ctx, r)
	if err != nil {
		return impls.Grant{}, l.giveUp(ctx, r, err)
	}
	return g, nil
}

// Acquire makes attempts, and between them waits for a notification or for the time that the server
// suggests.
func (l *lock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	r, err := l.request(mode, true)
	if err != nil {
		return impls.Grant{}, err
	}
	defer func() {
		if r.ear != nil {
			r.ear.Close()
		}
	}()
	for n := 1; ; n++ {
		g, wait, err := l.ask(ctx, r)
		if err == nil {
			return g, nil
		}
		retry := errors.Is(err, impls.ErrBusy) || errors.Is(err, errTooLate)
		if !retry || n == l.env.MaxTries {
			return impls.Grant{}, l.giveUp(ctx, r, err)
		}
		fence, err := l.wait(ctx, r, wait)
		if err != nil {
			return impls.Grant{}, l.giveUp(ctx, r, l.cancelled(r, err))
		}
		if fence > 0 && l.env.Clock.Now().Before(r.until) {
			return l.keep(r, fence), nil
		}
	}
}

// Extend restarts the lease of the last hold. It returns ErrUnknownOutcome if the reply comes after
// the new validity: the server may still have it. The hold is kept for Release.
func (l *lock) Extend(ctx context.Context) (impls.Grant, error) {
	if len(l.holds) == 0 {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	h := &l.holds[len(l.holds)-1]
	var until time.Time
	ok, _, err := l.twice(ctx, func() (bool, error) {
		until = l.validUntil()
		return l.yes(ctx, l.how.renew[h.mode], h)
	})
	if err != nil {
		return impls.Grant{}, impls.Classify("extend "+l.env.Key, err)
	}
	if !ok {
		l.drop()
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrLost)
	}
	h.until = until
	if !l.env.Clock.Now().Before(until) {
		return impls.Grant{}, fmt.Errorf("extend %s: %w: the reply came after the end of the lease", l.env.Key, impls.ErrUnknownOutcome)
	}
	return impls.Grant{Token: h.token, ValidUntil: until}, nil
}

// Release ends the last hold. If the outcome is unknown the hold is kept, so that the caller may
// try again; if the lease cannot have ended by then, a missing hold means that the earlier request
// released it.
func (l *lock) Release(ctx context.Context) error {
	if len(l.holds) == 0 {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	h := &l.holds[len(l.holds)-1]
	ok, doubt, err := l.twice(ctx, func() (bool, error) { return l.yes(ctx, l.how.end[h.mode], h) })
	h.doubt = h.doubt || doubt
	if err != nil {
		return impls.Classify("release "+l.env.Key, err)
	}
	mine := h.doubt && l.env.Clock.Now().Before(h.until)
	l.drop()
	if !ok && !mine {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrLost)
	}
	return nil
}

// wait returns after limit or when notified, with a fence if the lock was granted meanwhile, and
// ctx.Err() if ctx ends. It subscribes at the first wait, so that an uncontended acquire opens no
// connection.
func (l *lock) wait(ctx context.Context, r *request, limit time.Duration) (fence uint64, err error) {
	channel := l.wakes
	if l.how.turns {
		channel += r.token
	}
	if l.how.blocks {
		return l.block(ctx, channel, limit)
	}
	if r.ear == nil {
		r.ear = impls.Listen(ctx, l.env.Redis(), l.env.Clock, channel, l.env.PollInterval())
	}
	return 0, r.ear.Sleep(ctx, limit)
}

func (l *lock) drop() { l.holds = l.holds[:len(l.holds)-1] }

// request returns a new request with a random token.
func (l *lock) request(mode history.Mode, waits bool) (*request, error) {
	if l.how.take[mode] == nil {
		return nil, fmt.Errorf("acquire %s %s: %w", mode, l.env.Key, impls.ErrUnsupported)
	}
	token, err := impls.NewToken(l.env.Rand)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrUnavailable, err)
	}
	return &request{token: token, mode: mode, waits: waits}, nil
}

// ask makes one attempt, and repeats it if the reply is lost. wait is when to try again.
func (l *lock) ask(ctx context.Context, r *request) (g impls.Grant, wait time.Duration, err error) {
	if ctx.Err() != nil {
		return g, 0, l.cancelled(r, ctx.Err())
	}
	what := "acquire " + l.env.Key
	// 1 and the fence, 0 if the lock has none; or 0 and the milliseconds until the next change,
	// negative if they are not known
	var reply []int64
	granted, doubt, err := l.twice(ctx, func() (bool, error) {
		r.until = l.validUntil()
		reply, err = l.run(ctx, l.how.take[r.mode], r.token, r.waits).Int64Slice()
		return err == nil && reply[0] == 1, err
	})
	r.doubt = r.doubt || doubt
	switch {
	case err != nil:
		return g, 0, impls.Classify(what, err)
	case !granted:
		r.place = r.waits && l.how.blocks
		return g, l.patience(time.Duration(reply[1]) * time.Millisecond), fmt.Errorf("%s: %w", what, impls.ErrBusy)
	case l.env.Clock.Now().Before(r.until):
		return l.keep(r, uint64(reply[1])), 0, nil
	}
	if err := l.withdraw(ctx, r); err != nil {
		return g, 0, fmt.Errorf("%s: %w: %w", what, impls.ErrUnknownOutcome, err)
	}
	return g, 0, fmt.Errorf("%s: %w", what, errTooLate)
}

func (l *lock) keep(r *request, fence uint64) impls.Grant {
	if !l.how.many {
		l.holds = l.holds[:0]
	}
	l.holds = append(l.holds, hold{token: r.token, mode: r.mode, until: r.until})
	return impls.Grant{Token: r.token, Fence: fence, ValidUntil: r.until}
}

// giveUp withdraws a request that was not granted. It returns err, with ErrUnknownOutcome if a
// reply was lost, or if it could not withdraw a place to which the lock may be handed.
func (l *lock) giveUp(ctx context.Context, r *request, err error) error {
	unknown := errors.Is(err, impls.ErrUnknownOutcome)
	if r.waits || r.doubt || unknown {
		left := l.withdraw(ctx, r) // otherwise it ends with its lease
		r.doubt = r.doubt || r.place && left != nil
	}
	if !r.doubt || unknown {
		return err
	}
	if errors.Is(err, impls.ErrBusy) { // an earlier request may still be granted
		err = errors.New("a reply was lost, and then another held the lock")
	}
	return fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrUnknownOutcome, err)
}

// withdraw removes a request from the server, under its own context, as the caller's may have
// ended.
func (l *lock) withdraw(ctx context.Context, r *request) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(l.env.Lease, time.Second))
	defer cancel()
	return l.run(own, l.how.withdraw, r.token, false).Err()
}

func (l *lock) cancelled(r *request, why error) error {
	return fmt.Errorf("acquire %s %s: %w: %w", r.mode, l.env.Key, impls.ErrCancelled, why)
}

// twice sends a request, and repeats it if its reply is lost; doubt reports that it did.
func (l *lock) twice(ctx context.Context, send func() (bool, error)) (ok, doubt bool, err error) {
	ok, err = send()
	if err == nil || ctx.Err() != nil || !errors.Is(impls.Classify("", err), impls.ErrUnknownOutcome) {
		return ok, false, err
	}
	if ok, err = send(); err != nil && !errors.Is(impls.Classify("", err), impls.ErrUnknownOutcome) {
		// the first may have had an effect, whatever became of the second
		err = fmt.Errorf("%w: %w", impls.ErrUnknownOutcome, err)
	}
	return ok, true, err
}

// validUntil returns the validity of a grant requested now: a lease, less one hundredth for clock
// drift and a millisecond for the server's rounding.
func (l *lock) validUntil() time.Time {
	return l.env.Clock.Now().Add(l.env.Lease - l.env.Lease/100 - time.Millisecond)
}

// patience returns how long to sleep if the server expects no change for wait: at most a third of
// the lease, because places in a queue and claims must be renewed in time.
func (l *lock) patience(wait time.Duration) time.Duration {
	third := l.env.Lease / 3
	if wait < 0 {
		return third
	}
	return min(wait+time.Millisecond, third)
}
