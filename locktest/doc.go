// Package locktest is a conformance kit for distributed locks: it takes a constructor and runs one subtest per rule.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, func(c locktest.Config) (any, error) {
//			return mylock.New(c.Redis, c.Key, c.TTL), nil
//		})
//	}
//
// A lock is a value with Unlock(ctx) error and TryLock(ctx) (bool, error) or Lock(ctx) error or both. Its other methods show what more it can do:
// Extend(ctx) error, Token() string, ValidUntil() time.Time, Fence() uint64, RLock and RUnlock(ctx) error, Lost() <-chan struct{}, Close() error;
// package subject has the interfaces. [Promises] states what methods can't show; the kit detects by itself whether a lock renews its lease.
//
// Each rule has its own servers and clients. The kit can cut or slow their connections and lose requests and replies, and it records the requests, so
// that a message says what happened: "other.TryLock succeeded while b held the lock; b's key job was deleted by a.Unlock (DEL job)". By default a
// server is a miniredis inside a testing/synctest bubble, where waiting costs no real time and leases end to the millisecond; [OnRedisServer] runs
// the rules on redis-server from PATH as well, in real time. A lock that keeps a mutex while it waits, or that can't be given connections, is tested
// in real time only.
//
// [Run] tries each situation a few times; [Explore] searches the schedules of messages and faults in the simulator. Both run in separate processes: a
// panic, an endless loop or a call that never returns fails one rule, with a stack.
//
// [Breaks] names the rules that a lock breaks by design; the kit must then see them broken. A rule that does not apply, or that has nothing to check,
// is skipped with the reason.
//
// The rules:
//
//   - excludes (C1): A holder keeps others out until it releases, and then the next client gets in.
//   - release-needs-a-hold (C2): Who holds nothing can neither release nor extend: it hears ErrNotHeld, and the holder keeps the lock.
//   - release-once (C2): A second release hears ErrNotHeld and does nothing.
//   - one-wins (C6): Of many clients that ask at once as many get in as may.
//   - no-lost-update (C6): Clients that read, think and write back under the lock lose no update.
//   - late-release (C3): A release that comes after the lease leaves the next client's hold alone.
//   - late-release-told (C2 C25): A release that comes after the lease hears that the hold was lost.
//   - late-extend (C2 C3 C4): An extend that comes after the lease hears that the hold was lost, whether another holds by then or has come and gone, and makes no lock anew.
//   - names-apart (C1): Locks of different names are independent, also of names that a hash takes for one another.
//   - reuse (C1 C2): One object may be used for many holds, and a new one for each; a new object of another client releases nothing.
//   - release-frees (C20 C21): A release that said ok has freed the lock, whatever became of scripts, requests and replies; one that did not say so leaves it for a lease at the most.
//   - loss-returns (C3 C7): A release of a hold that is gone returns with its context, and leaves the next client's alone.
//   - context-ended (C7): The end of an acquire's context, when it has returned, keeps nobody from releasing.
//   - busy-is-busy (C25): Held by another is ErrBusy and nothing else; a server that is gone is not ErrBusy.
//   - unique-tokens (C2): Every grant has a token of its own.
//   - lease-lasts (C5): Nobody else gets in before the lease has ended.
//   - lease-ends (C5 C8): The lock of a client that died is free when its lease has ended.
//   - extend-restarts (C5): An extend starts the lease anew; it adds nothing to it.
//   - valid-until (C19): ValidUntil is never later than the end of the lease on the server.
//   - slow-reply (C19): A grant whose reply comes after the lease is none, and nothing is left of it.
//   - lost-grant (C20): An acquire whose reply is lost is never ErrBusy, and what is left of it ends with the lease.
//   - retried-grant (C20): An acquire that the Redis client sends again by itself is never ErrBusy while nobody else holds, and is free after its release.
//   - lost-release (C20): A release whose reply is lost has released, and may be sent again.
//   - lost-extend (C20): An extend whose reply is lost leaves the hold alone, and may be sent again.
//   - died-on-the-way (C8): A client that dies anywhere on its way through an acquire locks nobody out for longer than a lease.
//   - skewed-clock (C23): A client whose clock is two leases off neither gets in beside a holder nor keeps others out.
//   - lease-is-sane (C5): A lease of zero, below zero or of a part of a millisecond is refused.
//   - odd-leases (C5): Leases that are not whole seconds, below a second or long are kept as they were asked for.
//   - cancelled-request (C7 C20): An acquire whose context ends during its request leaves nothing behind: at once when the reply arrives, for a lease at the most when it does not.
//   - scripts-forgotten (C21): A server that has forgotten the scripts costs two more requests for each at the most.
//   - waits (C7): A waiting acquire is granted after the release.
//   - deadline (C7 C25): A waiting acquire ends with its context, with an error, and leaves nothing behind.
//   - dead-waiter (C9): A waiter that died holds nobody up for longer than a lease.
//   - keys-deleted (C10): When the keys are deleted a waiter gets in within a lease.
//   - woken (C11): A release wakes a waiter at once, every time.
//   - subscription-cut (C11): A waiter whose subscription is cut gets in soon after the release all the same.
//   - fifo (C16): Waiters get in in the order in which they came.
//   - no-drift (C9 C16): Dead waiters hold the others up for one lease in all, however many they are.
//   - bounded-requests (C7 C11): An acquire, its release and a waiter send a bounded number of requests.
//   - no-stale-signals (C11): Wake-ups that nobody took keep no later waiter busy.
//   - nothing-running (C7): When everything is released and closed no goroutine is left.
//   - clean (C7): When everybody is done there is no key left but a counter, and no subscription.
//   - one-slot (C24): All keys of one lock are in one hash slot.
//   - fences-grow (C17): Every grant has a higher fence than every grant before it.
//   - fences-race (C17): Fences grow in the order of the holds when many clients contend.
//   - counts-entries (C13): A holder that acquires again keeps the lock until its last release, and no release too many is heard.
//   - inner-release (C13): An inner release leaves the outer hold a whole lease.
//   - lost-entry (C13): An entry whose reply is lost leaves the outer hold alone, and what is left of it ends with the lease.
//   - readers-share (C14): Readers share; a writer is alone.
//   - reader-leaves-alone (C14): A reader that leaves ends its own hold and no other reader's.
//   - shared-release (C2 C14): Who does not read ends no reader's hold and no writer's.
//   - dead-reader (C14): A dead reader keeps a writer out for a lease at the most, though others read on.
//   - dead-writer-waits (C9 C14): A writer that died while it waited keeps readers out for a lease at the most.
//   - reader-leaks (C14): Readers that come, go and die leave no key and make nobody slower.
//   - mixed-modes (C14): One client may read and write by turns; what it is refused changes nothing.
//   - downgrade (C14): A writer that goes on as a reader lets waiting readers in at once, and no writer.
//   - readers-wake (C14): Readers that wait for a writer get in together.
//   - writer-first (C14): A waiting writer keeps new readers out, and gets in when the present ones have left.
//   - permits (C15): There are never more holders than permits, and a release too many makes none.
//   - permits-wake (C15): Permits that come back at once let as many waiters in.
//   - renews (C12): A watchdog keeps the lock for as long as the work takes, and stops at the release.
//   - renews-own (C10 C12): A watchdog whose hold is gone tells it, and neither renews another's hold nor takes the lock again.
//   - renewal-fails (C12): A watchdog survives one renewal whose reply is lost.
//   - one-watchdog (C12 C13): A holder that entered again is renewed as often as one that entered once.
//   - slow-renewals (C12 C19): A watchdog keeps the lock though replies are slow, and promises no more time than the server gives.
//   - renewed-again (C12 C13): A holder that entered again is renewed after an inner release, and in its next hold.
//   - released-at-once (C12): A release that follows its acquire at once ends the watchdog.
//   - gave-up-unrenewed (C12): An acquire that was given up renews nothing.
//   - quorum (C18): A lock on several nodes works without the minority of them, and not without the majority; a failed attempt leaves nothing.
//   - quorum-masks (C18): Whatever some nodes are, taken, down, hanging or losing replies, a lock on several is granted if and only if the others are a majority, and a failed attempt and a release leave nothing on any node that is there.
//   - replica-missing (C22): A lock that replicas must confirm is refused without them, not as busy, and nothing of it is left.
//
// A broken rule means a broken lock. A rule that holds is no proof: the kit tries situations, not every schedule, and does not test what a server
// forgets in a failover, a restart or a jump of its clock. The scenarios of lockbench test that.
package locktest
