package expect

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
)

// Reasons why a scenario does not apply.
const (
	oneCommand  = "one command acquires: there is no middle to die in"
	noClock     = "asks no client clock"
	noOwnerID   = "knows its holders by tokens, not by owner ids"
	oneNode     = "one node has no minority"
	nobodyWakes = "waiters poll: there is no subscription to cut"
	noScript    = "sends no script"
	nothingHeld = "is granted to nobody: there is no hold that a replica could miss"
)

// Leased is a mutex on one node whose key has a lease and is deleted only by the client that wrote it: right as long as
// the server keeps the key and the client keeps within the lease.
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

// The causes of what follows when an operator deletes a lock's key under its holder, or the server evicts it: without that, the next client
// is refused. No client of the lock did anything wrong.
const (
	KeyDeleted = "key-deleted"
	Evicted    = "eviction"
)

// Blind is a leased mutex whose release deletes whatever it finds: everything that makes a client outlive its lease, or
// lets a second one in, ends in the hold of a third.
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

// Unleased is a mutex whose key never expires: no pause can hurt it, and every lost client locks it for ever.
func Unleased() Table {
	stuck := impls.Breaks(Stuck()...).Or(StuckLuck()...)
	perhaps := impls.Safe().Or(slices.Concat(Stuck(), StuckLuck())...)
	return Blind().With(Table{
		"slow-work":            impls.Safe(),
		"pause-holder":         impls.Safe(),
		"pause-after-grant":    impls.Safe(),
		"pause-before-release": perhaps, // nobody can enter and end the stall, which outlasts the client's patience with its own request
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

// Never is a lock that is granted to nobody: safe, and useless, whatever is done to it.
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

// LateRelease expects a release that arrives when the lock is another's, and deletes it. Its command was sent while the
// client still held, so that on the record the release may have come in time: that a third was let in tells.
func LateRelease() impls.Expectation {
	return impls.Breaks("mutual-exclusion/mis-unlock").Or("release-safety/mis-unlock").Or(MisUnlockDamage()...)
}

// twoHolders expects two clients to be told that they hold, and what may come of it.
func twoHolders(cause string) impls.Expectation {
	return impls.Breaks("mutual-exclusion/" + cause).Or(Damage(cause)...)
}
