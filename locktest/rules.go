package locktest

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
)

// Rules lists every rule, in the order in which they are checked.
func Rules() []Rule {
	return slices.Concat(ownership(), leases(), waiters(), capabilities())
}

// Who may hold, and who may end a hold.
func ownership() []Rule {
	return []Rule{
		{"excludes", "A holder keeps others out until it releases, and then the next client gets in.", nil, excludes},
		{"release-needs-a-hold", "Who holds nothing can neither release nor extend: it hears ErrNotHeld, and the holder keeps the lock.", nil, releaseNeedsAHold},
		{"release-once", "A second release hears ErrNotHeld and does nothing.", nil, releaseOnce},
		{"one-wins", "Of many clients that ask at once as many get in as may.", nil, oneWins},
		{"no-lost-update", "Clients that read, think and write back under the lock lose no update.", nil, noLostUpdate},
		{"late-release", "A release that comes after the lease leaves the next client's hold alone.", leased, lateRelease},
		{"late-release-told", "A release that comes after the lease hears that the hold was lost.", leased, lateReleaseTold},
		{"late-extend", "An extend that comes after the lease hears that the hold was lost, whether another holds by then or has come and gone, and makes no lock anew.", extends, lateExtend},
		{"busy-is-busy", "Held by another is ErrBusy and nothing else; a server that is gone is not ErrBusy.", nil, busyIsBusy},
		{"unique-tokens", "Every grant has a token of its own.", has(func(t impls.Traits) bool { return t.UniqueToken }, "it has no tokens"), uniqueTokens},
	}
}

// Leases, clocks and replies that come late or not at all.
func leases() []Rule {
	return []Rule{
		{"lease-lasts", "Nobody else gets in before the lease has ended.", leased, leaseLasts},
		{"lease-ends", "The lock of a client that died is free when its lease has ended.", leased, leaseEnds},
		{"extend-restarts", "An extend starts the lease anew; it adds nothing to it.", both(extends, both(leased, unwatched)), extendRestarts},
		{"valid-until", "ValidUntil is never later than the end of the lease on the server.", validity, validUntil},
		{"slow-reply", "A grant whose reply comes after the lease is none, and nothing is left of it.", validity, slowReply},
		{"lost-grant", "An acquire whose reply is lost is never ErrBusy, and what is left of it ends with the lease.", leased, lostGrant},
		{"lost-release", "A release whose reply is lost has released, and may be sent again.", leased, lostRelease},
		{"died-on-the-way", "A client that dies anywhere on its way through an acquire locks nobody out for longer than a lease.", leased, diedOnTheWay},
		{"skewed-clock", "A client whose clock is two leases off neither gets in beside a holder nor keeps others out.", leased, skewedClock},
		{"lease-is-sane", "A lease of zero, below zero or of a part of a millisecond is refused.", leased, leaseIsSane},
		{"scripts-forgotten", "A server that has forgotten the scripts costs two more requests at the most.", nil, scriptsForgotten},
	}
}

// What waiters may count on.
func waiters() []Rule {
	return []Rule{
		{"waits", "A waiting acquire is granted after the release.", nil, waits},
		{"deadline", "A waiting acquire ends with its context, with ErrCancelled, and leaves nothing behind.", nil, deadline},
		{"dead-waiter", "A waiter that died holds nobody up for longer than a lease.", leased, deadWaiter},
		{"keys-deleted", "When the keys are deleted a waiter gets in within a lease.", leased, keysDeleted},
		{"woken", "A release wakes a waiter at once, every time.", has(func(t impls.Traits) bool { return t.Wakeups }, "waiters poll"), woken},
		{"fifo", "Waiters get in in the order in which they came.", fifoOnly, fifo},
		{"no-drift", "Dead waiters hold the others up for one lease in all, however many they are.", fifoOnly, noDrift},
		{"clean", "When everybody is done there is no key left but a counter, and no subscription.", nil, clean},
		{"one-slot", "All keys of one lock are in one hash slot.", nil, oneSlot},
	}
}

// What only some locks can do.
func capabilities() []Rule {
	return []Rule{
		{"fences-grow", "Every grant has a higher fence than every grant before it.", has(func(t impls.Traits) bool { return t.Fenced }, "it has no fences"), fencesGrow},
		{"counts-entries", "A holder that acquires again keeps the lock until its last release, and no release too many is heard.", reentrant, countsEntries},
		{"inner-release", "An inner release leaves the outer hold a whole lease.", both(reentrant, leased), innerRelease},
		{"readers-share", "Readers share; a writer is alone.", sharing, readersShare},
		{"reader-leaves-alone", "A reader that leaves ends its own hold and no other reader's.", sharing, readerLeavesAlone},
		{"dead-reader", "A dead reader keeps a writer out for a lease at the most, though others read on.", both(sharing, leased), deadReader},
		{"dead-writer-waits", "A writer that died while it waited keeps readers out for a lease at the most.", both(sharing, leased), deadWriterWaits},
		{"permits", "There are never more holders than permits, and a release too many makes none.", has(func(t impls.Traits) bool { return t.Permits }, "it has one permit"), permits},
		{"renews", "A watchdog keeps the lock for as long as the work takes, and stops at the release.", watched, renews},
		{"renews-own", "A watchdog whose hold is gone tells it, and neither renews another's hold nor takes the lock again.", watched, renewsOwn},
		{"quorum", "A lock on several nodes works without the minority of them, and not without the majority; a failed attempt leaves nothing.", nil, quorum},
	}
}

type need func(t impls.Traits) string

func has(can func(impls.Traits) bool, otherwise string) need {
	return func(t impls.Traits) string {
		if can(t) {
			return ""
		}
		return otherwise
	}
}

func both(a, b need) need {
	return func(t impls.Traits) string {
		if why := a(t); why != "" {
			return why
		}
		return b(t)
	}
}

func leased(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return !t.NoLease }, "its holds never end by themselves")(t)
}

func extends(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return t.Extends }, "it cannot extend")(t)
}

func validity(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return t.Validity }, "its grants say no ValidUntil")(t)
}

func reentrant(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return t.Reentrant }, "its holder may not acquire again")(t)
}

func sharing(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return t.Shared }, "it has no shared mode")(t)
}

func watched(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return t.SelfRenewing }, "it does not renew by itself")(t)
}

func unwatched(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return !t.SelfRenewing }, "it renews by itself")(t)
}

func fifoOnly(t impls.Traits) string {
	return has(func(t impls.Traits) bool { return t.FIFO }, "it promises no order")(t)
}
