package reentrant

import (
	"slices"

	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// expectHash is a leased lock whose scripts compare the owner, and do not distinguish two clients
// of one name.
func expectHash() expect.Table {
	collide := verdicts.Breaks("mutual-exclusion/double-grant", "exclusive-use/double-grant").
		Or("store-integrity/double-grant", "release-safety/mis-unlock", "reentrancy/double-grant",
			"mutual-exclusion/mis-unlock", "exclusive-use/mis-unlock", "store-integrity/mis-unlock")
	// After a lost reply or request the owner's count stays one too high, the owner enters again for
	// ever, and the others wait until it is idle for a lease.
	halfReleased := []string{"progress/ambiguous-reply", "progress/orphan", "refusal/ambiguous-reply", "refusal/orphan",
		"reentrancy/ambiguous-reply"}
	return expect.Leased().
		With(expect.Table{"owner-collision": collide}).
		Luck(halfReleased, "lost-reply-acquire", "lost-reply-release", "lost-request", "cancel-acquire", "blackhole-client",
			"pause-server", "kill-server", "restart-delayed")
}

// expectTimer: work longer than the lease is safe as long as the watchdog runs, which it does not
// in a stalled process or behind a dead network.
func expectTimer() expect.Table {
	lost := []string{"renewal/restart-loss", "renewal/failover-loss", "renewal/clock-jump", "renewal/mis-unlock",
		"renewal/lease-overrun"}
	return expectHash().
		With(expect.Table{
			"slow-work":   verdicts.Safe(),
			"drift-clock": verdicts.Safe(), // it renews in time
			// The client learns of its loss when it resumes, and usually leaves without writing.
			"pause-holder": verdicts.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun"),
			// The watchdog of a hold that has ended finds the field of a later hold of the same
			// owner, and reports no loss.
			"late-outer-grant": verdicts.Breaks("exclusive-use/own-release").Or("mutual-exclusion/own-release", "store-integrity/own-release",
				"store-integrity/lease-overrun", "exclusive-use/lease-overrun"),
		}).
		Luck(lost, "kill-server", "restart-delayed", "failover", "clock-jump", "key-deleted", "eviction", "pause-holder",
			"pause-after-grant", "pause-server", "blackhole-client")
}

// expectLocal is a leased lock that lets a client enter again because of the client's own count,
// even if its hold is gone.
func expectLocal() expect.Table {
	stale := append(expect.TwoHolders("stale-reentry"), "reentrancy/stale-reentry")
	return expect.Leased().
		Luck(stale, "slow-work", "pause-holder", "pause-after-grant", "pause-server", "blackhole-client", "kill-server",
			"failover", "clock-jump", "key-deleted", "eviction")
}

// expectBounded: the renewal comes just after the lease, so work longer than the lease is as unsafe
// as without renewal.
func expectBounded() expect.Table {
	gap := slices.Concat(expect.TwoHolders("renewal-gap"), expect.Overrun(), []string{"renewal/renewal-gap"})
	return expectLocal().
		With(expect.Table{
			"slow-work": verdicts.Breaks("exclusive-use/renewal-gap").Or(gap...),
			// A renewal that comes just after the key has gone tells the client of its loss: then
			// it works on without believing.
			"clock-jump":  usesOn("clock-jump"),
			"drift-clock": usesOn("clock-skew"),
			"key-deleted": usesOn(expect.KeyDeleted),
			"eviction":    usesOn(expect.Evicted),
			"kill-server": usesOn("restart-loss"),
			"failover":    usesOn("failover-loss"),
		}).
		Luck(gap, "pause-holder", "pause-after-grant", "pause-before-release", "pause-server", "blackhole-client",
			"kill-server", "restart-delayed", "failover", "clock-jump", "key-deleted", "eviction", "slow-network")
}

// usesOn expects a client in its critical section beside another, whether or not it knows.
func usesOn(cause string) verdicts.Expectation {
	return verdicts.Breaks("exclusive-use/" + cause).Or(expect.TwoHolders(cause)...)
}
