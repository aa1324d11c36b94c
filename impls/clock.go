package impls

import (
	"context"
	"time"
)

// Clock is a client's own clock. A skewed client has a skewed Clock; a stalled client's Sleep does
// not return.
type Clock interface {
	// Now returns the client's wall clock time.
	Now() time.Time
	// Sleep returns nil after d, or ctx.Err() if ctx ends first. d <= 0 returns at once.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock (the bubble's, inside testing/synctest).
type SystemClock struct{}

var _ Clock = SystemClock{}

// Now returns time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep waits for d or the end of ctx.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
