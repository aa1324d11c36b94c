package impls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
)

// Lock is one client's handle on one key. It is used by one goroutine at a time, apart from the
// lock's own background goroutines.
type Lock interface {
	// Try makes one attempt and does not wait. It returns ErrBusy if refused.
	Try(ctx context.Context, mode history.Mode) (Grant, error)

	// Acquire waits until the lock is granted or ctx ends (ErrCancelled). A lock with a bounded
	// number of attempts returns ErrBusy after the last. After an error, nothing on the client can
	// still acquire the lock.
	Acquire(ctx context.Context, mode history.Mode) (Grant, error)

	// Extend restarts the lease of the current hold. It returns ErrNotHeld if the handle holds
	// nothing, ErrLost if the server no longer knows the hold, and ErrUnsupported if the lock
	// cannot extend.
	Extend(ctx context.Context) (Grant, error)

	// Release ends the current hold, the innermost of a re-entrant lock. It returns ErrNotHeld if
	// the handle holds nothing, and ErrLost if the server no longer knows the hold.
	Release(ctx context.Context) error

	// Close ends the handle's background goroutines and waits for them. It does not release.
	Close() error
}

// Grant is the result of a granted acquire or of an extend.
type Grant struct {
	// Token names the grant; "" if the lock has no unique tokens.
	Token string
	// Fence grows with every grant; 0 if the lock has none.
	Fence uint64
	// ValidUntil is the time, by the client's clock, until which the lock promises that no other
	// client is granted it. Zero means a lease after the call; UntilLost means until Lost is
	// closed.
	ValidUntil time.Time
	// Asked is when, by the client's clock, the granted attempt began; zero means at the call. An
	// Acquire that waited has its lease from there.
	Asked time.Time
	// Lost is closed when the lock learns that the hold is lost; nil if it does not notify.
	Lost <-chan struct{}
}

// UntilLost is the ValidUntil of a lock that closes Lost instead of giving a time.
var UntilLost = time.Unix(1<<40, 0)

// Renewal is one extend that a lock did by itself.
type Renewal struct {
	Token      string
	Call       time.Time // by the client's clock
	Return     time.Time
	ValidUntil time.Time // zero unless Err is nil
	Err        error     // nil, or one of the sentinel errors
}

// PollUntilGranted calls try every Env.Poll, at most Env.MaxTries times. It returns the grant, the
// first error other than ErrBusy, ErrBusy after the last attempt, or ErrCancelled if ctx ends
// between two attempts.
func PollUntilGranted(ctx context.Context, env Env, mode history.Mode, try func(context.Context, history.Mode) (Grant, error)) (Grant, error) {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return Grant{}, fmt.Errorf("acquire %s: %w: %w", env.Key, ErrCancelled, ctx.Err())
		}
		asked := env.Clock.Now()
		g, err := try(ctx, mode)
		if err == nil && g.Asked.IsZero() {
			g.Asked = asked
		}
		if err == nil || !errors.Is(err, ErrBusy) || n == env.MaxTries {
			return g, endedBy(ctx, err)
		}
		if err := env.Clock.Sleep(ctx, env.PollInterval()); err != nil {
			return Grant{}, fmt.Errorf("acquire %s: %w: %w", env.Key, ErrCancelled, err)
		}
	}
}
