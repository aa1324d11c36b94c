package beyond

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
)

// overrun is a client that works on past its lease: no lock hinders it.
const overrun = "exclusive-use/lease-overrun"

// guarded is what a lock with fences must show: a client that outlives its lease is found out by the store, and only
// the server can break the lock's word.
func guarded() expect.Table {
	return expect.Leased().With(expect.Table{
		"slow-work":         impls.Breaks(overrun),
		"pause-holder":      impls.Breaks(overrun),
		"pause-after-grant": impls.Safe(), // the clock is read again when the reply is there
		"blackhole-client":  impls.Safe().Or(overrun),
		"pubsub-cut":        impls.Safe(),
		"kill-server":       serverLoss("restart-loss"),
		"restart-delayed":   impls.Safe().Or("fencing-order/restart-loss").Or(expect.Damage("restart-loss")...).Or(overrun),
		"pause-server":      impls.Safe().Or(overrun),
		"failover":          serverLoss("failover-loss"),
		"clock-jump":        impls.Breaks("mutual-exclusion/clock-jump").Or(expect.Damage("clock-jump")...),
		"key-deleted":       serverLoss(expect.KeyDeleted),
		"eviction":          serverLoss(expect.Evicted),
	})
}

// waking adds what all locks of this package can: they wake their waiters, and extend.
func waking(t expect.Table) expect.Table { return t.With(expect.Wakes()).With(expect.Extends()) }

// serverLoss is a server that forgets who holds, and with the fence counter which fence was the last.
func serverLoss(cause string) impls.Expectation {
	return impls.Breaks("mutual-exclusion/" + cause).Or(expect.Damage(cause)...).Or("fencing-order/" + cause)
}

// counted is what a semaphore must show: as a leased mutex, for one holder more than there are permits.
func counted() expect.Table {
	return expect.Leased().With(expect.Table{
		"pause-after-grant": impls.Safe(),
		"pubsub-cut":        impls.Safe(),
		"client-clock-skew": impls.Safe(), // the sorted set is by the server's time
		"restart-delayed":   impls.Safe().Or(slices.Concat(expect.Overrun(), expect.Damage("restart-loss"))...),
	})
}
