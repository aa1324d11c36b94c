package reentrant

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// renewalsPerLease is how often a watchdog renews within one lease.
const renewalsPerLease = 3

// watchdog extends the lease of one hold until it is stopped or the hold is lost. It retries a
// failed renewal at the next tick.
type watchdog struct {
	env   impls.Env
	renew func(ctx context.Context) (bool, error)
	lost  chan struct{} // closed when a reply says that the hold is gone
	ctx   context.Context
	stop  context.CancelFunc
}

// over reports whether the watchdog has ended.
func (w *watchdog) over() bool {
	select {
	case <-w.lost:
		return true
	default:
		return w.ctx.Err() != nil
	}
}

// run renews until the watchdog is stopped or the hold is lost. It does not report a renewal during
// which it was stopped.
func (w *watchdog) run() {
	for w.env.Clock.Sleep(w.ctx, w.env.Lease/renewalsPerLease) == nil {
		call := w.env.Clock.Now()
		ok, err := w.renew(w.ctx)
		if w.ctx.Err() != nil {
			return
		}
		gone := err == nil && !ok
		if gone {
			close(w.lost)
		}
		if r := renewal(w.env, call, ok, err); w.env.OnRenew != nil {
			w.env.OnRenew(r)
		}
		if gone {
			return
		}
	}
}

// renewal describes one renewal: valid for a lease from its sending, or its error.
func renewal(env impls.Env, call time.Time, ok bool, err error) impls.Renewal {
	r := impls.Renewal{Call: call, Return: env.Clock.Now(), Err: impls.Classify("renew "+env.Key, err)}
	switch {
	case err != nil:
	case ok:
		r.ValidUntil = call.Add(env.Lease)
	default:
		r.Err = fmt.Errorf("renew %s: %w", env.Key, impls.ErrLost)
	}
	return r
}
