package expect

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
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
)

// Leased is a mutex on one node whose key has a lease and is deleted only by the client that wrote it: safe while the server keeps the key and
// the client stays within the lease.
func Leased() Table {
	return Table{
		"steady":    impls.Safe(),
		"contended": impls.Safe(),
		"slow-work": impls.Breaks(Overrun()...),

		"pause-holder":         impls.Breaks(Overrun()...),
		"pause-after-grant":    impls.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun"),
		"pause-before-release": impls.Safe(),
		"crash-holder":         impls.Safe(),
		"crash-mid-acquire":    impls.NotApplicable(oneCommand),
		"crash-waiter":         impls.Safe(),
		"cancel-acquire":       impls.Safe(),
		"client-clock-skew":    impls.NotApplicable(noClock),
		"owner-collision":      impls.NotApplicable(noOwnerID),

		"lost-reply-acquire": impls.Safe(),
		"lost-reply-release": impls.Safe(),
		"lost-request":       impls.Safe(),
		"slow-network":       impls.Safe(),
		"blackhole-client":   impls.Safe().Or(Overrun()...),
		"partition-minority": impls.NotApplicable(oneNode),
		"pubsub-cut":         impls.NotApplicable(nobodyWakes),

		"kill-server":     twoHolders("restart-loss"),
		"restart-delayed": impls.Safe().Or(slices.Concat(Overrun(), Damage("restart-loss"))...),
		"pause-server":    impls.Safe().Or(Overrun()...),
		"failover":        twoHolders("failover-loss"),
		"clock-jump":      twoHolders("clock-jump"),
		"script-flush":    impls.Safe(),
		"key-deleted":     twoHolders(KeyDeleted),
		"eviction":        twoHolders(Evicted),
		"cluster-slots":   impls.Safe(),
	}
}

// Causes of a deleted key that are no fault of a client.
const (
	KeyDeleted = "key-deleted"
	Evicted    = "eviction"
)

// Blind is a leased mutex whose release deletes the key without checking its owner: after a client outlives its lease, or a second one enters, a
// third one may enter.
func Blind() Table {
	late := impls.Breaks(slices.Concat(MisUnlock(), Overrun())...).Or(MisUnlockDamage()...)
	return Leased().
		Luck(AnyMisUnlock(), "slow-work", "pause-after-grant", "blackhole-client", "kill-server", "restart-delayed",
			"pause-server", "failover", "clock-jump", "key-deleted", "eviction").
		With(Table{
			"pause-holder":         late,
			"pause-before-release": LateRelease(),
			"script-flush":         impls.NotApplicable(noScript),
		})
}

// Unleased is a mutex whose key never expires: pauses do no harm, and a crashed client locks it forever.
func Unleased() Table {
	stuck := impls.Breaks(Stuck()...).Or(StuckLuck()...)
	perhaps := impls.Safe().Or(slices.Concat(Stuck(), StuckLuck())...)
	return Blind().With(Table{
		"slow-work":            impls.Safe(),
		"pause-holder":         impls.Safe(),
		"pause-after-grant":    impls.Safe(),
		"pause-before-release": perhaps, // no other client can enter and end the stall, which may outlast the client's timeout
		"crash-holder":         stuck,
		"cancel-acquire":       perhaps,
		"lost-reply-acquire":   stuck,
		"lost-request":         perhaps,
		"blackhole-client":     perhaps,
		"restart-delayed":      impls.Safe().Or(slices.Concat(TwoHolders("restart-loss"), AnyMisUnlock())...),
		"pause-server":         perhaps,
		"clock-jump":           impls.Safe(),
	})
}

// Never is a lock that is never granted.
func Never() Table {
	t := Leased()
	for name, e := range t {
		if e.NA == "" {
			t[name] = impls.Breaks("progress/never-granted").Or("refusal/never-granted")
		}
	}
	t["failover"] = impls.NotApplicable(nothingHeld)
	return t
}

// LateRelease expects a release that arrives when another client holds the lock, and deletes it. As it was sent in time, release-safety may
// hold; but a third client enters.
func LateRelease() impls.Expectation {
	return impls.Breaks("mutual-exclusion/mis-unlock").Or("release-safety/mis-unlock").Or(MisUnlockDamage()...)
}

// twoHolders expects two clients to hold at once, and possibly the damage.
func twoHolders(cause string) impls.Expectation {
	return impls.Breaks("mutual-exclusion/" + cause).Or(Damage(cause)...)
}
