// Package locktest is a conformance kit for distributed locks: it takes a constructor and runs one subtest per rule.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, func(c locktest.Config) (any, error) {
//			return mylock.New(c.Redis, c.Key, c.TTL), nil
//		})
//	}
//
// A lock is a value with Unlock(ctx) error and TryLock(ctx) (bool, error) or Lock(ctx) error or both. Its other methods show what more it can do:
// Extend(ctx) error, Token() string, ValidUntil() time.Time, Fence() uint64, RUnlock(ctx) error with RLock(ctx) error or TryRLock(ctx) (bool, error),
// Lost() <-chan struct{}, Close() error; package subject has the interfaces. [Promises] states what methods can't show; the kit detects by itself
// whether a lock renews its lease.
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
//   - excludes (C1): A holder keeps others out until it releases, whoever starts or closes, and then the next client gets in.
//   - release-needs-a-hold (C2): A client without a hold can neither release nor extend: both return ErrNotHeld, and the holder keeps the lock.
//   - release-once (C2): A second release returns ErrNotHeld and changes nothing.
//   - one-wins (C6): Of many clients that try at once, only one is granted the lock, or as many as there are permits.
//   - no-lost-update (C6): Clients that read, compute and write back under the lock lose no update.
//   - asked-again (C2): A holder that asks again and is refused keeps its hold: others stay out, and its release frees the lock.
//   - try-returns (C1): A TryLock does not wait for the holder.
//   - late-release (C3 C14): A release after the end of the lease leaves the next client's hold alone, whatever the modes of both.
//   - late-release-fails (C2 C25): A release after the end of the lease returns ErrNotHeld or ErrLost.
//   - late-extend (C2 C3 C4): An extend after the end of the lease returns ErrNotHeld or ErrLost, even if nobody holds the lock any more, and does not take the lock.
//   - late-entry (C3 C13): A client whose lease has ended is refused while another holds.
//   - between-requests (C3 C19): A client whose reply comes a lease late, in a release, an extend or a renewal, leaves the next client's hold alone; while a reply to an acquire is on its way another client may have a whole hold, and then the grant is the only one, with a higher fence.
//   - names-apart (C1): Locks with different names are independent, also when a hash function or an encoding maps the names to one, and though one client holds many and releases each.
//   - reserved-words (C1 C2): A client or a lock may be called by a word that the lock uses in its scripts and requests.
//   - reuse (C1 C2): One lock object serves many holds, and so does a new object for each hold; a new object of another client releases nothing.
//   - release-frees (C20 C21): A release that returned nil has freed the lock, whatever scripts, requests and replies were lost; after any other result the lock is free within a lease.
//   - loss-returns (C3 C7): A release of a hold that is gone returns by the end of its context, and leaves the next client's hold alone.
//   - context-ended (C7): A call under a context that has ended does its work or returns an error; the end of an acquire's context, once it has returned, does not prevent the release.
//   - closes (C3 C7): A Close ends what the lock does in the background and leaves other holds alone; its own hold ends with the lease at the latest.
//   - busy-is-busy (C25): An acquire while another client holds returns ErrBusy and no other error; without a server, or when the server answers with an error, it does not return ErrBusy.
//   - unique-tokens (C2): Every grant has a token of its own.
//   - lease-lasts (C5): Nobody else gets in before the lease has ended.
//   - connections-cut (C5 C11): A hold outlasts the connections of its client, a subscription too, or its client is told.
//   - lease-ends (C5 C8): The lock of a client that died is free when its lease has ended.
//   - extend-restarts (C5): An extend starts the lease anew, a thousand times in a row; it adds nothing to it.
//   - valid-until (C19): ValidUntil is never later than the end of the lease on the server.
//   - slow-reply (C19): An acquire whose reply comes after the end of the lease fails, and leaves no key.
//   - lost-grant (C20): An acquire whose reply is lost never returns ErrBusy, and keeps others out for a lease at most.
//   - second-attempt (C3 C20): An acquire after one that got no answer gives a hold that lasts.
//   - unanswered (C3 C20): An acquire that gets no reply while another client holds leaves that hold alone.
//   - retried-grant (C20): An acquire that the Redis client repeats by itself never returns ErrBusy while nobody else holds, and its release frees the lock.
//   - lost-release (C20): A release whose reply is lost has freed the lock, and may be repeated.
//   - lost-extend (C20): An extend whose reply is lost leaves the hold alone, and may be repeated.
//   - died-on-the-way (C8): A client that dies at any point of an acquire keeps others out for a lease at most.
//   - skewed-clock (C23): A client whose clock is two leases off is not granted a lock that is held, and keeps others out for a lease at most.
//   - lease-is-sane (C5): A lease of zero, below zero, or with a fraction of a millisecond is refused.
//   - odd-leases (C5): Leases below a second, of fractions of seconds, or very long ones last as long as requested: granted at once, after a wait, or by an extend.
//   - cancelled-request (C7 C20): An acquire whose context ends during its request leaves no key: at once if the reply arrives, after a lease at most if it does not.
//   - no-answer (C7): While no server answers, every call returns an error, a lease after the deadline of its context at the latest.
//   - scripts-forgotten (C21): After SCRIPT FLUSH each script costs at most two requests more.
//   - waits (C7): A waiting acquire is granted after the release.
//   - deadline (C7 C25): A waiting acquire returns an error when its context ends, and leaves no key and no subscription.
//   - dead-waiter (C9): A waiter that died, or lost a reply, delays the others by a lease at most.
//   - waits-long (C7): A waiter that others keep out for many leases is granted the lock within a lease of the last release.
//   - two-waits (C7 C11): When one of a client's two waits ends, it is granted the other lock as soon as any waiter.
//   - keys-deleted (C10): When the keys are deleted, a waiter is granted the lock within a lease.
//   - released-between (C7 C11): A release between two requests of a waiter is noticed as soon as any other.
//   - woken (C11): A release wakes a waiter at once, every time.
//   - subscription-cut (C11): A waiter whose subscription is cut is granted the lock soon after the release.
//   - fifo (C16): Waiters are granted the lock in the order in which they came.
//   - no-drift (C9 C16): Dead waiters delay the others by one lease in total, however many they are.
//   - bounded-requests (C7 C11): An acquire, its release and a waiter send a bounded number of requests.
//   - no-stale-signals (C11): Wake-ups that no waiter consumed do not make a later waiter spin.
//   - nothing-running (C7): When everything is released and closed, no goroutine is left.
//   - clean (C7): When all clients are done, no subscription and no key but a counter is left.
//   - one-slot (C24): All keys of one lock are in one hash slot.
//   - fences-grow (C17): Every grant has a higher fence than every grant before it.
//   - fences-race (C17): Fences grow in the order of the holds when many clients contend.
//   - fences-late (C17 C19): A client whose reply comes when its lease has ended and another has been granted the lock has no higher fence than that one.
//   - counts-entries (C13): A holder that acquires again keeps the lock until its last release; one release more returns ErrNotHeld.
//   - inner-release (C13): An inner release leaves the outer hold a whole lease.
//   - lost-entry (C13): An entry whose reply is lost leaves the outer hold alone, and keeps others out for a lease at most.
//   - readers-share (C14): Readers share; a writer is alone.
//   - reader-leaves-alone (C14): A reader's release ends its own hold and no other reader's.
//   - shared-release (C2 C14): A client that does not read can end no reader's hold and no writer's.
//   - reader-lasts (C5 C14): A reader that comes later, or extends, keeps a writer out for a lease of its own.
//   - dead-reader (C14): A dead reader keeps a writer out for a lease at most, even if others read on.
//   - dead-writer-waits (C9 C14): A writer that died while it waited keeps readers out for a lease at most.
//   - many-readers (C14): However many readers there are, alive or dead, a writer is refused while one of them reads.
//   - refused-reader (C14): A reader that was refused, or has given up, keeps no writer out.
//   - refused-writer (C14): A writer that was refused, or has given up, keeps readers out for a lease at most.
//   - reader-leaks (C14): Readers that come, go and die leave no key, and do not make later readers slower.
//   - mixed-modes (C14): One client may read and write in turn; a refused request changes nothing.
//   - downgrade (C14): A writer that continues as a reader lets waiting readers in at once, and no writer.
//   - readers-wake (C14): Readers that wait for a writer are granted the lock together.
//   - writer-first (C14): A waiting writer keeps new readers out, and is granted the lock when the present readers have left.
//   - permits (C15): There are never more holders than permits, and one release too many adds none.
//   - permits-wake (C15): Permits that are released at once let as many waiters in.
//   - renews (C12): A watchdog keeps the lock for as long as the work takes, a thousand leases if it must, and stops at the release.
//   - renews-own (C10 C12): A watchdog whose hold is gone reports the loss, of each hold anew, and neither renews another's hold nor takes the lock again.
//   - renewal-fails (C12): A watchdog survives one renewal whose reply is lost.
//   - one-watchdog (C12 C13): A holder that entered again is renewed as often as one that entered once.
//   - one-of-two (C12): A client that holds two locks and releases or loses one goes on renewing the other.
//   - slow-renewals (C12 C19): A watchdog keeps the lock though replies are slow, and ValidUntil is never later than the end of the lease on the server.
//   - renewed-again (C12 C13): A holder that entered again is renewed after an inner release, and in its next hold.
//   - loss-in-time (C10 C12): A client that reaches no server knows that its hold is lost before another client is granted the lock.
//   - released-at-once (C12): A release right after the acquire stops the watchdog.
//   - gave-up-unrenewed (C12): An acquire that was cancelled renews nothing.
//   - quorum (C18): A lock on several nodes works without a minority of them, and fails without the majority; a failed attempt leaves no key.
//   - quorum-masks (C18): Whichever nodes are taken, down, hanging or losing replies, a lock on several nodes is granted if and only if the others are a majority; a failed attempt and a release leave no key on any node that can be reached.
//   - replica-missing (C22): A lock that replicas must confirm fails without them, with another error than ErrBusy, and leaves no key.
//
// A broken rule means a broken lock. A rule that holds is no proof: the kit tries situations, not every schedule, and does not test what a server
// forgets in a failover, a restart or a jump of its clock. The scenarios of lockbench test that.
package locktest
