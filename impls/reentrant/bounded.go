package reentrant

import (
	"context"

	"github.com/lockbench/lockbench/impls"
)

// maxRenewals is how often the source renews one hold.
const maxRenewals = 4

// renewBounded is the source's loop: renew at once, then sleep a whole lease, so that the renewal
// comes after the lease. It reads the flag only between two sleeps, so a loop may outlive its hold
// and see the flag of the next.
//
// After a failed renewal the source tries again at once, without end; here it waits for one poll
// interval.
func (l *localLock) renewBounded(ctx context.Context, value string) {
	for n := 0; n < maxRenewals && l.renewing.Load(); {
		pause := l.env.PollInterval()
		if err := l.renewOnce(ctx, value); err == nil {
			n++
			pause = l.env.Lease
		}
		if l.env.Clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// renewOnce renews and reports the renewal; it returns the request's error. As in the source, a
// missing key is not an error.
func (l *localLock) renewOnce(ctx context.Context, value string) error {
	call := l.env.Clock.Now()
	ok, err := impls.Yes(localRenewScript.Run(ctx, l.env, value))
	if ctx.Err() == nil && l.env.OnRenew != nil {
		r := renewal(l.env, call, ok, err)
		r.Token = value
		l.env.OnRenew(r)
	}
	return err
}
