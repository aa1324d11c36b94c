package expect

import "github.com/lockbench/lockbench/verdicts"

// Extends is a lock with Extend: an extend that comes too late fails, but its client was in its
// critical section beside another.
func Extends() Table {
	return Table{"pause-extend": verdicts.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun")}
}

// Wakes is a lock that notifies its waiters when it becomes free.
func Wakes() Table { return Table{"long-lease": verdicts.Safe(), "give-up": verdicts.Safe()} }

// Reenters is a lock that counts its holder's entries on the server.
func Reenters() Table { return Table{"nested": verdicts.Safe()} }

// Behind is a failover to a replica that lacks what another may have confirmed.
func Behind() verdicts.Expectation { return twoHolders("failover-loss") }

// Renews is a lock that extends its lease in the background exactly while it is held.
func Renews() Table {
	return Table{
		"late-renewal": verdicts.Breaks("exclusive-use/lease-overrun").Or("store-integrity/lease-overrun"),
		"lost-release": verdicts.Safe(),
	}
}

// Shares is a lock whose readers have their own leases.
func Shares() Table {
	return Table{"read-mostly": verdicts.Safe(), "crash-reader": verdicts.Safe(), "crash-writer-waiting": verdicts.Safe(), "crowd-of-readers": verdicts.Safe()}
}

// Counts is a lock that several may hold, each with a lease of its own.
func Counts() Table { return Table{"several-permits": verdicts.Safe()} }
