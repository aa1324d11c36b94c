package expect

import (
	"slices"

	"github.com/lockbench/lockbench/verdicts"
)

// Reasons why a scenario does not apply.
const (
	oneCommand  = "one command acquires: a client cannot crash in between"
	noClock     = "uses no client clock"
	noOwnerID   = "identifies holders by tokens, not by owner ids"
	oneNode     = "one node has no minority"
	nobodyWakes = "waiters poll: there is no subscription to cut"
	noScript    = "sends no script"
	nothingHeld = "is never granted: there is no hold that a replica could lack"
	noLeaseRuns = "is never granted: there is no lease that could end early"
)

// Leased is a mutex on one node whose key has a lease and is deleted only by the client that wrote
// it: safe while the server keeps the key and the client stays within the lease.
func Leased() Table {
	return Table{
		"steady":    verdicts.Safe(),
		"contended": verdicts.Safe(),
		"slow-work": verdicts.Breaks(Overrun()...),

		"pause-holder":         verdicts.Breaks(Overrun()...),
		"pause-after-grant":    verdicts.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun"),
		"pause-before-release": verdicts.Safe(),
		"crash-holder":         verdicts.Safe(),
		"crash-mid-acquire":    verdicts.NotApplicable(oneCommand),
		"crash-waiter":         verdicts.Safe(),
		"cancel-acquire":       verdicts.Safe(),
		"client-clock-skew":    verdicts.NotApplicable(noClock),
		"owner-collision":      verdicts.NotApplicable(noOwnerID),

		"lost-reply-acquire": verdicts.Safe(),
		"lost-reply-release": verdicts.Safe(),
		"lost-request":       verdicts.Safe(),
		"slow-network":       verdicts.Safe(),
		"blackhole-client":   verdicts.Safe().Or(Overrun()...),
		"partition-minority": verdicts.NotApplicable(oneNode),
		"pubsub-cut":         verdicts.NotApplicable(nobodyWakes),

		"kill-server":     twoHolders("restart-loss"),
		"restart-delayed": verdicts.Safe().Or(slices.Concat(Overrun(), Damage("restart-loss"))...),
		"pause-server":    verdicts.Safe().Or(Overrun()...),
		"failover":        twoHolders("failover-loss"),
		"clock-jump":      twoHolders("clock-jump"),
		"drift-clock":     twoHolders("clock-skew"),
		"script-flush":    verdicts.Safe(),
		"key-deleted":     twoHolders(KeyDeleted),
		"eviction":        twoHolders(Evicted),
		"cluster-slots":   verdicts.Safe(),

		"sentinel-failover":  verdicts.Safe().Or(TwoPrimaries()...),
		"sentinel-partition": twoHolders("split-brain").Or(TwoPrimaries()...),
	}
}

// Causes of a deleted key other than a client.
const (
	KeyDeleted = "key-deleted"
	Evicted    = "eviction"
)

// Blind is a leased mutex whose release deletes the key without checking its owner: after a client
// outlives its lease, or a second one enters, a third one may enter.
func Blind() Table {
	late := verdicts.Breaks(slices.Concat(misUnlock(), Overrun())...).Or(misUnlockDamage()...)
	return Leased().
		Luck(AnyMisUnlock(), "slow-work", "pause-after-grant", "blackhole-client", "kill-server", "restart-delayed",
			"pause-server", "failover", "clock-jump", "drift-clock", "key-deleted", "eviction", "sentinel-failover", "sentinel-partition").
		With(Table{
			"pause-holder":         late,
			"pause-before-release": LateRelease(),
			"script-flush":         verdicts.NotApplicable(noScript),
		})
}

// Unleased is a mutex whose key never expires: pauses do no harm, and a crashed client locks it
// forever.
func Unleased() Table {
	stuck := verdicts.Breaks(Stuck()...).Or(StuckLuck()...)
	perhaps := verdicts.Safe().Or(slices.Concat(Stuck(), StuckLuck())...)
	// a release whose reply was lost leaves it locked
	primaries := perhaps.Or("progress/unknown").Or(slices.Concat(TwoPrimaries(), AnyMisUnlock())...)
	return Blind().With(Table{
		"slow-work":         verdicts.Safe(),
		"pause-holder":      verdicts.Safe(),
		"pause-after-grant": verdicts.Safe(),
		// no other client can enter and end the stall, which may outlast the client's timeout
		"pause-before-release": perhaps,
		"crash-holder":         stuck,
		"cancel-acquire":       perhaps,
		"lost-reply-acquire":   stuck,
		"lost-request":         perhaps,
		"blackhole-client":     perhaps,
		"restart-delayed":      verdicts.Safe().Or(slices.Concat(TwoHolders("restart-loss"), AnyMisUnlock())...),
		"pause-server":         perhaps,
		"clock-jump":           verdicts.Safe(),
		"drift-clock":          verdicts.Safe(),
		"sentinel-failover":    primaries,
		"sentinel-partition":   primaries,
	})
}

// Never is a lock that is never granted.
func Never() Table {
	t := Leased()
	for name, e := range t {
		if e.NA == "" {
			t[name] = verdicts.Breaks("progress/never-granted").Or("refusal/never-granted")
		}
	}
	for _, name := range []string{"failover", "sentinel-failover", "sentinel-partition"} {
		t[name] = verdicts.NotApplicable(nothingHeld)
	}
	t["drift-clock"] = verdicts.NotApplicable(noLeaseRuns)
	return t
}

// LateRelease expects a release that arrives when another client holds the lock, and deletes it. As
// it was sent in time, release-safety may hold; but a third client enters.
func LateRelease() verdicts.Expectation {
	return verdicts.Breaks("mutual-exclusion/mis-unlock").Or("release-safety/mis-unlock").Or(misUnlockDamage()...)
}

// twoHolders expects two clients to hold at once, and possibly the damage.
func twoHolders(cause string) verdicts.Expectation {
	return verdicts.Breaks("mutual-exclusion/" + cause).Or(Damage(cause)...)
}
