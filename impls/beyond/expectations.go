package beyond

import (
	"slices"

	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// overrun is a client that works past its lease, which no lock can prevent.
const overrun = "exclusive-use/lease-overrun"

// guarded is what a lock with fences must show: the store refuses a client that outlives its lease,
// and only server faults break the lock.
func guarded() expect.Table {
	return expect.Leased().With(expect.Table{
		"slow-work":         verdicts.Breaks(overrun),
		"pause-holder":      verdicts.Breaks(overrun),
		"pause-after-grant": verdicts.Safe(), // the clock is read again after the reply
		"blackhole-client":  verdicts.Safe().Or(overrun),
		"pubsub-cut":        verdicts.Safe(),
		"kill-server":       serverLoss("restart-loss"),
		"restart-delayed":   verdicts.Safe().Or("fencing-order/restart-loss").Or(expect.Damage("restart-loss")...).Or(overrun),
		"pause-server":      verdicts.Safe().Or(overrun),
		"failover":          serverLoss("failover-loss"),
		"clock-jump":        verdicts.Breaks("mutual-exclusion/clock-jump").Or(expect.Damage("clock-jump")...),
		"key-deleted":       serverLoss(expect.KeyDeleted),
		"eviction":          serverLoss(expect.Evicted),
	})
}

// waking adds what all locks of this package can do: notify waiters and extend.
func waking(t expect.Table) expect.Table { return t.With(expect.Wakes()).With(expect.Extends()) }

// serverLoss is a server that loses the hold and the fence counter.
func serverLoss(cause string) verdicts.Expectation {
	return verdicts.Breaks("mutual-exclusion/" + cause).Or(expect.Damage(cause)...).Or("fencing-order/" + cause)
}

// counted is what a semaphore must show: like a leased mutex.
func counted() expect.Table {
	return expect.Leased().With(expect.Table{
		"pause-after-grant": verdicts.Safe(),
		"pubsub-cut":        verdicts.Safe(),
		"client-clock-skew": verdicts.Safe(), // the sorted set has the server's time
		"restart-delayed":   verdicts.Safe().Or(slices.Concat(expect.Overrun(), expect.Damage("restart-loss"))...),
	})
}
