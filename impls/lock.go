package impls

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/history"
)

// Lock is one client's handle on one key. A handle is used by one goroutine at a time, apart from what the
// lock itself does in the background.
type Lock interface {
	// Try asks once and does not wait. A refusal is ErrBusy.
	Try(ctx context.Context, mode history.Mode) (Grant, error)

	// Acquire waits, in the variant's own way, until it is granted or ctx ends (ErrCancelled). A variant with
	// a bounded number of tries answers ErrBusy after the last. When it returns an error nothing that
	// could later grant the lock is left running on the client.
	Acquire(ctx context.Context, mode history.Mode) (Grant, error)

	// Extend restarts the lease of the current hold. ErrNotHeld when this handle holds nothing, ErrLost when
	// the server no longer knows the hold, ErrUnsupported when the variant cannot extend.
	Extend(ctx context.Context) (Grant, error)

	// Release ends the current hold (of a re-entrant lock: the innermost). ErrNotHeld when this handle
	// holds nothing, ErrLost when the server no longer knows the hold.
	Release(ctx context.Context) error

	// Close ends everything the handle runs in the background and waits for it. It does not release.
	Close() error
}

// Grant is what a client learns when it is granted a lock or when its lease is restarted.
type Grant struct {
	// Token names the grant; "" where the variant has no unique tokens.
	Token string
	// Fence grows with every grant; 0 where the variant has none.
	Fence uint64
	// ValidUntil is the instant, by the client's own clock, up to which the lock promises that nobody
	// else is granted it. Zero: the lock promises nothing better than lease after the call. UntilTold:
	// it promises to close Lost when the hold is gone, and no instant.
	ValidUntil time.Time
	// Asked is when, by the client's own clock, the try that was granted began: a lease runs from there and not from the
	// call of an Acquire that waited. Zero: from the call.
	Asked time.Time
	// Lost is closed when the lock learns that the hold is gone. nil: it never tells.
	Lost <-chan struct{}
}

// UntilTold is the ValidUntil of a lock that says "until I close Lost" and no instant.
var UntilTold = time.Unix(1<<40, 0)

// Renewal is one extend that a lock did by itself.
type Renewal struct {
	Token      string
	Call       time.Time // by the client's clock
	Return     time.Time
	ValidUntil time.Time // zero unless Err is nil
	Err        error     // nil, or one of the sentinels
}
