package beyond

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// MinLease is the shortest lease that is accepted: below it the milliseconds of the server's clock and the drift that is
// taken off leave too little.
const MinLease = 10 * time.Millisecond

// lock is one client's handle.
type lock struct {
	env   impls.Env
	how   protocol
	names names
	args  arguments
	holds []hold // the last is the one that Extend and Release mean; more than one only of a semaphore

	blocked connection // of a lock whose waiters block on a list
}

var _ impls.Lock = (*lock)(nil)

// hold is a grant that has not been released.
type hold struct {
	token string
	mode  history.Mode
	until time.Time // by the client's clock
	doubt bool      // a release was sent and its reply not seen
}

// request is one Try or Acquire: one token, however often it is asked.
type request struct {
	token string
	mode  history.Mode
	waits bool
	until time.Time // by the client's clock: what a grant is good for that was given since the last asking
	doubt bool      // a reply was lost: the token may hold without the client's knowing
}

// errTooLate is a grant whose reply came when its validity was over. It has been handed back, unless it was an extend.
var errTooLate = fmt.Errorf("the reply came after the end of the lease: %w", impls.ErrUnavailable)

func (p protocol) open(env impls.Env) (impls.Lock, error) {
	if err := env.CheckLease(); err != nil {
		return nil, err
	}
	if env.Lease < MinLease {
		return nil, fmt.Errorf("lease %v: want at least %v", env.Lease, MinLease)
	}
	l := &lock{env: env, how: p, names: p.names(env.Key)}
	l.args = l.arguments()
	return l, nil
}

// Try asks once.
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

// Acquire asks, and between two askings sleeps until it is woken or it is worth asking again.
func (l *lock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	r, err := l.request(mode, true)
	if err != nil {
		return impls.Grant{}, err
	}
	between := l.waiter(r)
	defer between.close()
	for n := 1; ; n++ {
		g, wait, err := l.ask(ctx, r)
		if err == nil {
			return g, nil
		}
		retry := errors.Is(err, impls.ErrBusy) || errors.Is(err, errTooLate)
		if !retry || n == l.env.MaxTries {
			return impls.Grant{}, l.giveUp(ctx, r, err)
		}
		fence, err := between.wait(ctx, wait)
		if err != nil {
			return impls.Grant{}, l.giveUp(ctx, r, l.cancelled(r, err))
		}
		if fence > 0 && l.env.Clock.Now().Before(r.until) {
			return l.keep(r, fence), nil
		}
	}
}

// Extend starts the lease of the last hold anew. An extend whose reply comes when the new validity is over is ErrUnavailable, like such
// a grant; the hold is kept for Release.
func (l *lock) Extend(ctx context.Context) (impls.Grant, error) {
	if len(l.holds) == 0 {
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	h := &l.holds[len(l.holds)-1]
	var until time.Time
	ok, _, err := l.twice(ctx, func() (bool, error) {
		until = l.validUntil()
		return l.how.extend(ctx, l, *h)
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
		return impls.Grant{}, fmt.Errorf("extend %s: %w", l.env.Key, errTooLate)
	}
	return impls.Grant{Token: h.token, ValidUntil: until}, nil
}

// Release ends the last hold. After an error that leaves its fate open the hold is kept, so that the caller may try again;
// "not there" is then no loss when the lease cannot have ended yet: it was the earlier request that ended it.
func (l *lock) Release(ctx context.Context) error {
	if len(l.holds) == 0 {
		return fmt.Errorf("release %s: %w", l.env.Key, impls.ErrNotHeld)
	}
	h := &l.holds[len(l.holds)-1]
	ok, doubt, err := l.twice(ctx, func() (bool, error) { return l.how.release(ctx, l, *h) })
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

// Close ends the connection that waits, where there is one. What else waits belongs to Acquire.
func (l *lock) Close() error { return l.blocked.close() }

func (l *lock) drop() { l.holds = l.holds[:len(l.holds)-1] }

// request draws the token of a Try or Acquire.
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

// ask sends the request, once more when the reply is lost. wait says after what time it is worth asking again.
func (l *lock) ask(ctx context.Context, r *request) (g impls.Grant, wait time.Duration, err error) {
	if ctx.Err() != nil {
		return g, 0, l.cancelled(r, ctx.Err())
	}
	var answer reply
	_, doubt, err := l.twice(ctx, func() (bool, error) {
		r.until = l.validUntil()
		answer, err = l.how.ask(ctx, l, r)
		return answer.granted, err
	})
	r.doubt = r.doubt || doubt
	switch {
	case err != nil:
		return g, 0, impls.Classify("acquire "+l.env.Key, err)
	case !answer.granted:
		return g, l.patience(answer.wait), fmt.Errorf("acquire %s: %w", l.env.Key, impls.ErrBusy)
	case !l.env.Clock.Now().Before(r.until):
		return g, 0, l.tooLate(ctx, r)
	}
	return l.keep(r, answer.fence), 0, nil
}

func (l *lock) keep(r *request, fence uint64) impls.Grant {
	if !l.how.many {
		l.holds = l.holds[:0]
	}
	l.holds = append(l.holds, hold{token: r.token, mode: r.mode, until: r.until})
	return impls.Grant{Token: r.token, Fence: fence, ValidUntil: r.until}
}

// tooLate hands a grant back that is worth nothing any more.
func (l *lock) tooLate(ctx context.Context, r *request) error {
	if err := l.withdraw(ctx, r); err != nil {
		return fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrUnknownOutcome, err)
	}
	return fmt.Errorf("acquire %s: %w", l.env.Key, errTooLate)
}

// giveUp ends a request without a grant: what the server may know of it is withdrawn. err says why, and is joined with
// ErrUnknownOutcome when a lost reply leaves open what the server will still do.
func (l *lock) giveUp(ctx context.Context, r *request, err error) error {
	unknown := errors.Is(err, impls.ErrUnknownOutcome)
	if r.waits || r.doubt || unknown {
		_ = l.withdraw(ctx, r) // what is left then ends with its lease
	}
	if r.doubt && !unknown {
		return fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrUnknownOutcome, unbusy(err))
	}
	return err
}

// unbusy hides that an error is ErrBusy: the last word was "busy", but an earlier request may yet be granted.
func unbusy(err error) error {
	if errors.Is(err, impls.ErrBusy) {
		return errors.New("a reply was lost, and then another held the lock")
	}
	return err
}

// withdraw removes every trace of a request, under a context of its own: the caller's may have ended.
func (l *lock) withdraw(ctx context.Context, r *request) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(l.env.Lease, time.Second))
	defer cancel()
	return l.how.leave(own, l, r)
}

func (l *lock) cancelled(r *request, why error) error {
	return fmt.Errorf("acquire %s %s: %w: %w", r.mode, l.env.Key, impls.ErrCancelled, why)
}

// twice sends a request, and once more when its reply is lost: every request may be repeated. doubt tells that it was.
func (l *lock) twice(ctx context.Context, send func() (bool, error)) (ok, doubt bool, err error) {
	ok, err = send()
	if err == nil || ctx.Err() != nil || !errors.Is(impls.Classify("", err), impls.ErrUnknownOutcome) {
		return ok, false, err
	}
	ok, err = send()
	return ok, true, err
}

// validUntil is until when a grant asked for now is good: a lease from now, less a hundredth for clocks of different rate
// and the millisecond to which the server rounds.
func (l *lock) validUntil() time.Time {
	return l.env.Clock.Now().Add(l.env.Lease - l.env.Lease/100 - time.Millisecond)
}

// patience is how long to sleep when the server says that nothing will happen by itself for wait: a place in a queue and a
// claim must be renewed before they end, so at most a third of the lease.
func (l *lock) patience(wait time.Duration) time.Duration {
	third := l.env.Lease / 3
	if wait < 0 {
		return third
	}
	return min(wait+time.Millisecond, third)
}
