package locktest

import "slices"

// rules returns every rule, in the order in which they are checked.
func rules() []rule {
	return slices.Concat(ownership(), leases(), waiters(), capabilities())
}

// Ownership: mutual exclusion, and who can end a hold.
func ownership() []rule {
	return []rule{
		{"excludes", "C1", "A holder keeps others out until it releases, whoever starts or closes, and then the next client gets in.", nil, excludes},
		{"release-needs-a-hold", "C2", "A client without a hold can neither release nor extend: both return ErrNotHeld, and the holder keeps the lock.", nil, releaseNeedsAHold},
		{"release-once", "C2", "A second release returns ErrNotHeld and changes nothing.", nil, releaseOnce},
		{"one-wins", "C6", "Of many clients that try at once, only one is granted the lock, or as many as there are permits.", nil, oneWins},
		{"no-lost-update", "C6", "Clients that read, compute and write back under the lock lose no update.", nil, noLostUpdate},
		{"asked-again", "C2", "A holder that asks again and is refused keeps its hold: others stay out, and its release frees the lock.", nil, askedAgain},
		{"try-returns", "C1", "A TryLock does not wait for the holder.", triesItself, tryReturns},
		{"late-release", "C3 C14", "A release after the end of the lease leaves the next client's hold alone, whatever the modes of both.", leased, lateRelease},
		{"late-release-fails", "C2 C25", "A release after the end of the lease returns ErrNotHeld or ErrLost.", leased, lateReleaseFails},
		{"late-extend", "C2 C3 C4", "An extend after the end of the lease returns ErrNotHeld or ErrLost, even if nobody holds the lock any more, and does not take the lock.", extends, lateExtend},
		{"late-entry", "C3 C13", "A client whose lease has ended is refused while another holds.", leased, lateEntry},
		{"between-requests", "C3 C19", "A client whose reply comes a lease late, in a release, an extend or a renewal, leaves the next client's hold alone; while a reply to an acquire is on its way another client may have a whole hold, and then the grant is the only one, with a higher fence.", nil, betweenRequests},
		{"names-apart", "C1", "Locks with different names are independent, also when a hash function or an encoding maps the names to one, and though one client holds many and releases each.", nil, namesApart},
		{"reserved-words", "C1 C2", "A client or a lock may be called by a word that the lock uses in its scripts and requests.", nil, reservedWords},
		{"reuse", "C1 C2", "One lock object serves many holds, and so does a new object for each hold; a new object of another client releases nothing.", nil, reuse},
		{"release-frees", "C20 C21", "A release that returned nil has freed the lock, whatever scripts, requests and replies were lost; after any other result the lock is free within a lease.", nil, releaseFrees},
		{"loss-returns", "C3 C7", "A release of a hold that is gone returns by the end of its context, and leaves the next client's hold alone.", nil, lossReturns},
		{"context-ended", "C7", "A call under a context that has ended does its work or returns an error; the end of an acquire's context, once it has returned, does not prevent the release.", nil, contextEnded},
		{"closes", "C3 C7", "A Close ends what the lock does in the background and leaves other holds alone; its own hold ends with the lease at the latest.", all(leased, closing), closes},
		{"busy-is-busy", "C25", "An acquire while another client holds returns ErrBusy and no other error; without a server, or when the server answers with an error, it does not return ErrBusy.", nil, busyIsBusy},
		{"unique-tokens", "C2", "Every grant has a token of its own.", tokened, uniqueTokens},
	}
}

// Leases, clocks, and replies that come late or not at all.
func leases() []rule {
	return []rule{
		{"lease-lasts", "C5", "Nobody else gets in before the lease has ended.", leased, leaseLasts},
		{"connections-cut", "C5 C11", "A hold outlasts the connections of its client, a subscription too, or its client is told.", nil, connectionsCut},
		{"lease-ends", "C5 C8", "The lock of a client that died is free when its lease has ended.", leased, leaseEnds},
		{"extend-restarts", "C5", "An extend starts the lease anew, a thousand times in a row; it adds nothing to it.", all(extends, leased, unwatched), extendRestarts},
		{"valid-until", "C19", "ValidUntil is never later than the end of the lease on the server.", validity, validUntil},
		{"slow-reply", "C19", "An acquire whose reply comes after the end of the lease fails, and leaves no key.", validity, slowReply},
		{"lost-grant", "C20", "An acquire whose reply is lost never returns ErrBusy, and keeps others out for a lease at most.", leased, lostGrant},
		{"second-attempt", "C3 C20", "An acquire after one that got no answer gives a hold that lasts.", leased, secondAttempt},
		{"unanswered", "C3 C20", "An acquire that gets no reply while another client holds leaves that hold alone.", nil, unanswered},
		{"retried-grant", "C20", "An acquire that the Redis client repeats by itself never returns ErrBusy while nobody else holds, and its release frees the lock.", repeatable, retriedGrant},
		{"lost-release", "C20", "A release whose reply is lost has freed the lock, and may be repeated.", leased, lostRelease},
		{"lost-extend", "C20", "An extend whose reply is lost leaves the hold alone, and may be repeated.", all(extends, leased), lostExtend},
		{"died-on-the-way", "C8", "A client that dies at any point of an acquire keeps others out for a lease at most.", leased, diedOnTheWay},
		{"skewed-clock", "C23", "A client whose clock is two leases off is not granted a lock that is held, and keeps others out for a lease at most.", all(leased, ofContract), skewedClock},
		{"lease-is-sane", "C5", "A lease of zero, below zero, or with a fraction of a millisecond is refused.", leased, leaseIsSane},
		{"odd-leases", "C5", "Leases below a second, of fractions of seconds, or very long ones last as long as requested: granted at once, after a wait, or by an extend.", leased, oddLeases},
		{"cancelled-request", "C7 C20", "An acquire whose context ends during its request leaves no key: at once if the reply arrives, after a lease at most if it does not.", leased, cancelledRequest},
		{"no-answer", "C7", "While no server answers, every call returns an error, a lease after the deadline of its context at the latest.", nil, noAnswer},
		{"scripts-forgotten", "C21", "After SCRIPT FLUSH each script costs at most two requests more.", nil, scriptsForgotten},
	}
}

// What waiters can rely on.
func waiters() []rule {
	return []rule{
		{"waits", "C7", "A waiting acquire is granted after the release.", waitsItself, waits},
		{"deadline", "C7 C25", "A waiting acquire returns an error when its context ends, and leaves no key and no subscription.", waitsItself, deadline},
		{"dead-waiter", "C9", "A waiter that died, or lost a reply, delays the others by a lease at most.", leased, deadWaiter},
		{"waits-long", "C7", "A waiter that others keep out for many leases is granted the lock within a lease of the last release.", all(waitsItself, leased), waitsLong},
		{"two-waits", "C7 C11", "When one of a client's two waits ends, it is granted the other lock as soon as any waiter.", waitsItself, twoWaits},
		{"keys-deleted", "C10", "When the keys are deleted, a waiter is granted the lock within a lease.", leased, keysDeleted},
		{"released-between", "C7 C11", "A release between two requests of a waiter is noticed as soon as any other.", nil, releasedBetween},
		{"woken", "C11", "A release wakes a waiter at once, every time.", wakes, woken},
		{"subscription-cut", "C11", "A waiter whose subscription is cut is granted the lock soon after the release.", wakes, subscriptionCut},
		{"fifo", "C16", "Waiters are granted the lock in the order in which they came.", fifoOnly, fifo},
		{"no-drift", "C9 C16", "Dead waiters delay the others by one lease in total, however many they are.", fifoOnly, noDrift},
		{"bounded-requests", "C7 C11", "An acquire, its release and a waiter send a bounded number of requests.", nil, boundedRequests},
		{"no-stale-signals", "C11", "Wake-ups that no waiter consumed do not make a later waiter spin.", waitsItself, noSpinAfterSignals},
		{"nothing-running", "C7", "When everything is released and closed, no goroutine is left.", nil, leavesNothingRunning},
		{"clean", "C7", "When all clients are done, no subscription and no key but a counter is left.", nil, clean},
		{"one-slot", "C24", "All keys of one lock are in one hash slot.", onCluster, oneSlot},
	}
}

// Rules for locks with additional capabilities.
func capabilities() []rule {
	return []rule{
		{"fences-grow", "C17", "Every grant has a higher fence than every grant before it.", fenced, fencesGrow},
		{"fences-race", "C17", "Fences grow in the order of the holds when many clients contend.", fenced, fencesRace},
		{"fences-late", "C17 C19", "A client whose reply comes when its lease has ended and another has been granted the lock has no higher fence than that one.", all(fenced, leased, unwatched), fencesLate},
		{"counts-entries", "C13", "A holder that acquires again keeps the lock until its last release; one release more returns ErrNotHeld.", reentrant, countsEntries},
		{"inner-release", "C13", "An inner release leaves the outer hold a whole lease.", all(reentrant, leased), innerRelease},
		{"lost-entry", "C13", "An entry whose reply is lost leaves the outer hold alone, and keeps others out for a lease at most.", all(reentrant, leased), lostEntry},
		{"readers-share", "C14", "Readers share; a writer is alone.", sharing, readersShare},
		{"reader-leaves-alone", "C14", "A reader's release ends its own hold and no other reader's.", sharing, readerLeavesAlone},
		{"shared-release", "C2 C14", "A client that does not read can end no reader's hold and no writer's.", all(sharing, notOfContract), sharedRelease},
		{"reader-lasts", "C5 C14", "A reader that comes later, or extends, keeps a writer out for a lease of its own.", all(sharing, leased), readerLasts},
		{"dead-reader", "C14", "A dead reader keeps a writer out for a lease at most, even if others read on.", all(sharing, leased), deadReader},
		{"dead-writer-waits", "C9 C14", "A writer that died while it waited keeps readers out for a lease at most.", all(sharing, leased), deadWriterWaits},
		{"many-readers", "C14", "However many readers there are, alive or dead, a writer is refused while one of them reads.", all(sharing, leased), manyReaders},
		{"refused-reader", "C14", "A reader that was refused, or has given up, keeps no writer out.", sharing, refusedReader},
		{"refused-writer", "C14", "A writer that was refused, or has given up, keeps readers out for a lease at most.", all(sharing, leased), refusedWriter},
		{"reader-leaks", "C14", "Readers that come, go and die leave no key, and do not make later readers slower.", all(sharing, leased), readerLeaks},
		{"mixed-modes", "C14", "One client may read and write in turn; a refused request changes nothing.", sharing, mixedModes},
		{"downgrade", "C14", "A writer that continues as a reader lets waiting readers in at once, and no writer.", all(sharing, notOfContract), downgrade},
		{"readers-wake", "C14", "Readers that wait for a writer are granted the lock together.", sharing, readersWake},
		{"writer-first", "C14", "A waiting writer keeps new readers out, and is granted the lock when the present readers have left.", writersFirst, writerFirst},
		{"permits", "C15", "There are never more holders than permits, and one release too many adds none.", permitted, permits},
		{"permits-wake", "C15", "Permits that are released at once let as many waiters in.", permitted, permitsWake},
		{"renews", "C12", "A watchdog keeps the lock for as long as the work takes, a thousand leases if it must, and stops at the release.", watched, renews},
		{"renews-own", "C10 C12", "A watchdog whose hold is gone reports the loss, of each hold anew, and neither renews another's hold nor takes the lock again.", watched, renewsOwn},
		{"renewal-fails", "C12", "A watchdog survives one renewal whose reply is lost.", watched, renewalFails},
		{"one-watchdog", "C12 C13", "A holder that entered again is renewed as often as one that entered once.", all(reentrant, watched), oneWatchdog},
		{"one-of-two", "C12", "A client that holds two locks and releases or loses one goes on renewing the other.", watched, oneOfTwo},
		{"slow-renewals", "C12 C19", "A watchdog keeps the lock though replies are slow, and ValidUntil is never later than the end of the lease on the server.", watched, slowRenewals},
		{"renewed-again", "C12 C13", "A holder that entered again is renewed after an inner release, and in its next hold.", all(reentrant, watched), renewedAgain},
		{"loss-in-time", "C10 C12", "A client that reaches no server knows that its hold is lost before another client is granted the lock.", all(watched, leased, tellsLoss), lossInTime},
		{"released-at-once", "C12", "A release right after the acquire stops the watchdog.", nil, releasedAtOnce},
		{"gave-up-unrenewed", "C12", "An acquire that was cancelled renews nothing.", watched, gaveUpUnrenewed},
		{"quorum", "C18", "A lock on several nodes works without a minority of them, and fails without the majority; a failed attempt leaves no key.", severalNodes, quorum},
		{"quorum-masks", "C18", "Whichever nodes are taken, down, hanging or losing replies, a lock on several nodes is granted if and only if the others are a majority; a failed attempt and a release leave no key on any node that can be reached.", severalNodes, quorumMasks},
		{"replica-missing", "C22", "A lock that replicas must confirm fails without them, with another error than ErrBusy, and leaves no key.", replicated, replicaMissing},
	}
}

// need says why a rule does not apply to a lock; "" if it does.
type need func(cfg config) string

// has is the need for something; otherwise says why a rule does not apply to a lock without it.
func has(it func(config) bool, otherwise string) need {
	return func(cfg config) string {
		if it(cfg) {
			return ""
		}
		return otherwise
	}
}

// all joins needs; the first one that is not met says why.
func all(needs ...need) need {
	return func(cfg config) string {
		for _, n := range needs {
			if why := n(cfg); why != "" {
				return why
			}
		}
		return ""
	}
}

// What rules need of a lock.
var (
	leased       = has(func(c config) bool { return !c.Traits.NoLease }, "its holds never end by themselves")
	extends      = has(func(c config) bool { return c.Traits.Extends }, "it has no Extend")
	validity     = has(func(c config) bool { return c.Traits.Validity }, "it has no ValidUntil")
	tellsLoss    = has(func(c config) bool { return c.Traits.NotifiesLoss || c.Traits.Validity }, "it has neither Lost nor ValidUntil")
	tokened      = has(func(c config) bool { return c.Traits.UniqueToken }, "it has no tokens")
	fenced       = has(func(c config) bool { return c.Traits.Fenced }, "it has no fences")
	permitted    = has(func(c config) bool { return c.Traits.Permits }, "it has one permit")
	reentrant    = has(func(c config) bool { return c.Traits.Reentrant }, "it does not promise that its holder may lock again")
	repeatable   = has(func(c config) bool { return c.Traits.Repeatable }, "its acquire may not be sent twice")
	sharing      = has(func(c config) bool { return c.Traits.Shared }, "it has no readers")
	writersFirst = has(func(c config) bool { return c.Traits.WritersFirst }, "it does not promise that writers come first")
	watched      = has(func(c config) bool { return c.Traits.SelfRenewing }, "it does not renew by itself")
	unwatched    = has(func(c config) bool { return !c.Traits.SelfRenewing }, "it renews by itself")
	wakes        = has(func(c config) bool { return c.Traits.Wakeups }, "waiters poll")
	fifoOnly     = has(func(c config) bool { return c.Traits.FIFO }, "it promises no order")
	closing      = has(func(c config) bool { return c.Closes }, "it has no Close")
	severalNodes = has(func(c config) bool { return c.nodes >= 3 }, "it is on one node")
	replicated   = has(func(c config) bool { return c.replicas > 0 }, "no replica has to confirm it")
	onCluster    = has(func(c config) bool { return c.Variant || c.cluster }, "it does not promise to run on a cluster")

	// Only a TryLock, or a Lock that waits, can break some rules; for a lock with only TryLock the kit does the waiting.
	triesItself = has(func(c config) bool { return c.Tries }, "it has no TryLock")
	waitsItself = has(func(c config) bool { return c.Waits }, "it has no Lock that waits")

	// Some rules need more of a lock's environment than Config has, and for others package impls has no method.
	ofContract    = has(func(c config) bool { return c.Variant }, "its clock is the process's, which cannot be set for one client")
	notOfContract = has(func(c config) bool { return !c.Variant }, "package impls has no word for it")
)
