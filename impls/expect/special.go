package expect

import "github.com/lockbench/lockbench/impls"

// Special lists the scenarios that need something which not every lock has: a variant that has it has an expectation for them.
func Special() []string {
	return []string{
		"pause-extend", "long-lease", "give-up", "crash-queue", "nested", "late-renewal", "lost-release", "late-write",
		"failover-held", "lost-reply-alone",
		"read-mostly", "crash-reader", "crash-writer-waiting",
	}
}

// Extends is a lock that extends by hand: an extend that comes too late says so, and does no harm. The client that sends it was inside
// beside another all the same.
func Extends() Table {
	return Table{"pause-extend": impls.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun")}
}

// Wakes is a lock that tells its waiters when it comes free, whatever other waiters left behind.
func Wakes() Table { return Table{"long-lease": impls.Safe(), "give-up": impls.Safe()} }

// Reenters is a lock that counts its holder's entries on the server.
func Reenters() Table { return Table{"nested": impls.Safe()} }

// Confirms is what a lock shows that may be on a replica which takes over while it is held: nothing when the replica has it, and
// otherwise what a failover shows that loses it.
func Confirms() Table {
	return Table{"failover-held": impls.Safe().Or("mutual-exclusion/failover-loss").Or(Damage("failover-loss")...)}
}

// Alone is a lock that never takes its own grant for another's: one whose reply is lost is not a refusal.
func Alone() Table { return Table{"lost-reply-alone": impls.Safe()} }

// Renews is a lock that restarts its lease in the background as long as it is held, and no longer.
func Renews() Table {
	return Table{
		"late-renewal": impls.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun"),
		"lost-release": impls.Safe(),
	}
}

// Shares is a lock with readers of a lease each.
func Shares() Table {
	return Table{"read-mostly": impls.Safe(), "crash-reader": impls.Safe(), "crash-writer-waiting": impls.Safe()}
}
