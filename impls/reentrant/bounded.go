package reentrant

import (
	"context"
	"sync/atomic"

	"github.com/lockbench/lockbench/impls"
)

// maxRenewals is how often the source renews one hold.
const maxRenewals = 4

// object is what the source's lock object keeps for all its keys: one flag. Unlocking any key takes it down, and
// the renewals of every other key end with it.
type object struct{ renewing atomic.Bool }

// renewBounded is the source's loop: renew at once, then sleep a whole lease, so that the renewal comes when the lease is
// over. It looks at the flag only between two sleeps, so a loop may outlive its hold and see the flag of the next.
//
// Where a renewal fails the source tries again at once, without end; here one poll interval lies between.
func (l *localLock) renewBounded(ctx context.Context, value string) {
	for n := 0; n < maxRenewals && l.object.renewing.Load(); {
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

// renewOnce renews and reports; the error is the request's. That the key was gone is reported and otherwise ignored, as
// in the source.
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
