package locktest

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
)

// rules returns every rule, in the order in which they are checked.
func rules() []rule {
	return slices.Concat(ownership(), leases(), waiters(), capabilities())
}

// Ownership: mutual exclusion, and who can end a hold.
func ownership() []rule {
	return []rule{
		{"excludes", "C1", "A holder keeps others out until it releases, and then the next client gets in.", nil, excludes},
		{"release-needs-a-hold", "C2", "Who holds nothing can neither release nor extend: it hears ErrNotHeld, and the holder keeps the lock.", nil, releaseNeedsAHold},
		{"release-once", "C2", "A second release hears ErrNotHeld and does nothing.", nil, releaseOnce},
		{"one-wins", "C6", "Of many clients that ask at once as many get in as may.", nil, oneWins},
		{"no-lost-update", "C6", "Clients that read, think and write back under the lock lose no update.", nil, noLostUpdate},
		{"late-release", "C3", "A release that comes after the lease leaves the next client's hold alone.", leased, lateRelease},
		{"late-release-told", "C2 C25", "A release that comes after the lease hears that the hold was lost.", leased, lateReleaseTold},
		{"late-extend", "C2 C3 C4", "An extend that comes after the lease hears that the hold was lost, whether another holds by then or has come and gone, and makes no lock anew.", extends, lateExtend},
		{"names-apart", "C1", "Locks of different names are independent, also of names that a hash takes for one another.", nil, namesApart},
		{"reuse", "C1 C2", "One object may be used for many holds, and a new one for each; a new object of another client releases nothing.", nil, reuse},
		{"release-frees", "C20 C21", "A release that said ok has freed the lock, whatever became of scripts, requests and replies; one that did not say so leaves it for a lease at the most.", nil, releaseFrees},
		{"loss-returns", "C3 C7", "A release of a hold that is gone returns with its context, and leaves the next client's alone.", nil, lossReturns},
		{"context-ended", "C7", "The end of an acquire's context, when it has returned, keeps nobody from releasing.", nil, contextEnded},
		{"busy-is-busy", "C25", "Held by another is ErrBusy and nothing else; a server that is gone is not ErrBusy.", nil, busyIsBusy},
		{"unique-tokens", "C2", "Every grant has a token of its own.", has(func(t impls.Traits) bool { return t.UniqueToken }, "it has no tokens"), uniqueTokens},
	}
}

// Leases, clocks, and replies that come late or not at all.
func leases() []rule {
	return []rule{
		{"lease-lasts", "C5", "Nobody else gets in before the lease has ended.", leased, leaseLasts},
		{"lease-ends", "C5 C8", "The lock of a client that died is free when its lease has ended.", leased, leaseEnds},
		{"extend-restarts", "C5", "An extend starts the lease anew; it adds nothing to it.", both(extends, both(leased, unwatched)), extendRestarts},
		{"valid-until", "C19", "ValidUntil is never later than the end of the lease on the server.", validity, validUntil},
		{"slow-reply", "C19", "A grant whose reply comes after the lease is none, and nothing is left of it.", validity, slowReply},
		{"lost-grant", "C20", "An acquire whose reply is lost is never ErrBusy, and what is left of it ends with the lease.", leased, lostGrant},
		{"retried-grant", "C20", "An acquire that the Redis client sends again by itself is never ErrBusy while nobody else holds, and is free after its release.", has(func(t impls.Traits) bool { return t.Repeatable }, "its acquire may not be sent twice"), retriedGrant},
		{"lost-release", "C20", "A release whose reply is lost has released, and may be sent again.", leased, lostRelease},
		{"lost-extend", "C20", "An extend whose reply is lost leaves the hold alone, and may be sent again.", both(extends, leased), lostExtend},
		{"died-on-the-way", "C8", "A client that dies anywhere on its way through an acquire locks nobody out for longer than a lease.", leased, diedOnTheWay},
		{"skewed-clock", "C23", "A client whose clock is two leases off neither gets in beside a holder nor keeps others out.", both(leased, ofContract), skewedClock},
		{"lease-is-sane", "C5", "A lease of zero, below zero or of a part of a millisecond is refused.", leased, leaseIsSane},
		{"odd-leases", "C5", "Leases that are not whole seconds, below a second or long are kept as they were asked for.", leased, oddLeases},
		{"cancelled-request", "C7 C20", "An acquire whose context ends during its request leaves nothing behind: at once when the reply arrives, for a lease at the most when it does not.", leased, cancelledRequest},
		{"scripts-forgotten", "C21", "A server that has forgotten the scripts costs two more requests for each at the most.", nil, scriptsForgotten},
	}
}

// What waiters can rely on.
func waiters() []rule {
	return []rule{
		{"waits", "C7", "A waiting acquire is granted after the release.", waitsItself, waits},
		{"deadline", "C7 C25", "A waiting acquire ends with its context, with an error, and leaves nothing behind.", waitsItself, deadline},
		{"dead-waiter", "C9", "A waiter that died holds nobody up for longer than a lease.", leased, deadWaiter},
		{"keys-deleted", "C10", "When the keys are deleted a waiter gets in within a lease.", leased, keysDeleted},
		{"woken", "C11", "A release wakes a waiter at once, every time.", has(func(t impls.Traits) bool { return t.Wakeups }, "waiters poll"), woken},
		{"subscription-cut", "C11", "A waiter whose subscription is cut gets in soon after the release all the same.", has(func(t impls.Traits) bool { return t.Wakeups }, "waiters poll"), subscriptionCut},
		{"fifo", "C16", "Waiters get in in the order in which they came.", fifoOnly, fifo},
		{"no-drift", "C9 C16", "Dead waiters hold the others up for one lease in all, however many they are.", fifoOnly, noDrift},
		{"bounded-requests", "C7 C11", "An acquire, its release and a waiter send a bounded number of requests.", nil, boundedRequests},
		{"no-stale-signals", "C11", "Wake-ups that nobody took keep no later waiter busy.", waitsItself, noSpinAfterSignals},
		{"nothing-running", "C7", "When everything is released and closed no goroutine is left.", nil, leavesNothingRunning},
		{"clean", "C7", "When everybody is done there is no key left but a counter, and no subscription.", nil, clean},
		{"one-slot", "C24", "All keys of one lock are in one hash slot.", onCluster, oneSlot},
	}
}

// Rules for locks with additional capabilities.
func capabilities() []rule {
	return []rule{
		{"fences-grow", "C17", "Every grant has a higher fence than every grant before it.", has(func(t impls.Traits) bool { return t.Fenced }, "it has no fences"), fencesGrow},
		{"fences-race", "C17", "Fences grow in the order of the holds when many clients contend.", has(func(t impls.Traits) bool { return t.Fenced }, "it has no fences"), fencesRace},
		{"counts-entries", "C13", "A holder that acquires again keeps the lock until its last release, and no release too many is heard.", reentrant, countsEntries},
		{"inner-release", "C13", "An inner release leaves the outer hold a whole lease.", both(reentrant, leased), innerRelease},
		{"lost-entry", "C13", "An entry whose reply is lost leaves the outer hold alone, and what is left of it ends with the lease.", both(reentrant, leased), lostEntry},
		{"readers-share", "C14", "Readers share; a writer is alone.", sharing, readersShare},
		{"reader-leaves-alone", "C14", "A reader that leaves ends its own hold and no other reader's.", sharing, readerLeavesAlone},
		{"shared-release", "C2 C14", "Who does not read ends no reader's hold and no writer's.", both(sharing, notOfContract), sharedRelease},
		{"dead-reader", "C14", "A dead reader keeps a writer out for a lease at the most, though others read on.", both(sharing, leased), deadReader},
		{"dead-writer-waits", "C9 C14", "A writer that died while it waited keeps readers out for a lease at the most.", both(sharing, leased), deadWriterWaits},
		{"reader-leaks", "C14", "Readers that come, go and die leave no key and make nobody slower.", both(sharing, leased), readerLeaks},
		{"mixed-modes", "C14", "One client may read and write by turns; what it is refused changes nothing.", sharing, mixedModes},
		{"downgrade", "C14", "A writer that goes on as a reader lets waiting readers in at once, and no writer.", both(sharing, notOfContract), downgrade},
		{"readers-wake", "C14", "Readers that wait for a writer get in together.", sharing, readersWake},
		{"writer-first", "C14", "A waiting writer keeps new readers out, and gets in when the present ones have left.", has(func(t impls.Traits) bool { return t.WritersFirst }, "it does not promise that writers come first"), writerFirst},
		{"permits", "C15", "There are never more holders than permits, and a release too many makes none.", has(func(t impls.Traits) bool { return t.Permits }, "it has one permit"), permits},
		{"permits-wake", "C15", "Permits that come back at once let as many waiters in.", has(func(t impls.Traits) bool { return t.Permits }, "it has one permit"), permitsWake},
		{"renews", "C12", "A watchdog keeps the lock for as long as the work takes, and stops at the release.", watched, renews},
		{"renews-own", "C10 C12", "A watchdog whose hold is gone tells it, and neither renews another's hold nor takes the lock again.", watched, renewsOwn},
		{"renewal-fails", "C12", "A watchdog survives one renewal whose reply is lost.", watched, renewalFails},
		{"one-watchdog", "C12 C13", "A holder that entered again is renewed as often as one that entered once.", both(reentrant, watched), oneWatchdog},
		{"slow-renewals", "C12 C19", "A watchdog keeps the lock though replies are slow, and promises no more time than the server gives.", watched, slowRenewals},
		{"renewed-again", "C12 C13", "A holder that entered again is renewed after an inner release, and in its next hold.", both(reentrant, watched), renewedAgain},
		{"released-at-once", "C12", "A release that follows its acquire at once ends the watchdog.", nil, releasedAtOnce},
		{"gave-up-unrenewed", "C12", "An acquire that was given up renews nothing.", watched, gaveUpUnrenewed},
		{"quorum", "C18", "A lock on several nodes works without the minority of them, and not without the majority; a failed attempt leaves nothing.", severalNodes, quorum},
		{"quorum-masks", "C18", "Whatever some nodes are, taken, down, hanging or losing replies, a lock on several is granted if and only if the others are a majority, and a failed attempt and a release leave nothing on any node that is there.", severalNodes, quorumMasks},
		{"replica-missing", "C22", "A lock that replicas must confirm is refused without them, not as busy, and nothing of it is left.", replicated, replicaMissing},
	}
}

type need func(cfg config) string

func has(can func(impls.Traits) bool, otherwise string) need {
	return func(cfg config) string {
		if can(cfg.traits) {
			return ""
		}
		return otherwise
	}
}

func both(a, b need) need {
	return func(cfg config) string {
		if why := a(cfg); why != "" {
			return why
		}
		return b(cfg)
	}
}

func leased(cfg config) string {
	return has(func(t impls.Traits) bool { return !t.NoLease }, "its holds never end by themselves")(cfg)
}

func extends(cfg config) string {
	return has(func(t impls.Traits) bool { return t.Extends }, "it has no Extend")(cfg)
}

func validity(cfg config) string {
	return has(func(t impls.Traits) bool { return t.Validity }, "it has no ValidUntil")(cfg)
}

func reentrant(cfg config) string {
	return has(func(t impls.Traits) bool { return t.Reentrant }, "it does not promise that its holder may lock again")(cfg)
}

func sharing(cfg config) string {
	return has(func(t impls.Traits) bool { return t.Shared }, "it has no readers")(cfg)
}

func watched(cfg config) string {
	return has(func(t impls.Traits) bool { return t.SelfRenewing }, "it does not renew by itself")(cfg)
}

func unwatched(cfg config) string {
	return has(func(t impls.Traits) bool { return !t.SelfRenewing }, "it renews by itself")(cfg)
}

func fifoOnly(cfg config) string {
	return has(func(t impls.Traits) bool { return t.FIFO }, "it promises no order")(cfg)
}

func severalNodes(cfg config) string {
	if cfg.nodes >= 3 {
		return ""
	}
	return "it is on one node"
}

func replicated(cfg config) string {
	if cfg.replicas > 0 {
		return ""
	}
	return "no replica has to confirm it"
}

// onCluster skips rules that only concern a cluster.
func onCluster(cfg config) string {
	if cfg.variant || cfg.cluster {
		return ""
	}
	return "it does not promise to run on a cluster"
}

// ofContract skips rules that need more of a lock's environment than Config has.
func ofContract(cfg config) string {
	if cfg.variant {
		return ""
	}
	return "its clock is the process's, which cannot be set for one client"
}

// notOfContract skips rules for which package impls has no method.
func notOfContract(cfg config) string {
	if cfg.variant {
		return "package impls has no word for it"
	}
	return ""
}

// waitsItself skips rules that only a Lock that waits can break; for a lock with only TryLock the kit does the waiting.
func waitsItself(cfg config) string {
	if cfg.waits {
		return ""
	}
	return "it has no Lock that waits"
}
