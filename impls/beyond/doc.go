// Package beyond has locks to adopt, without the defects of the sources.
//
//   - fenced: a mutex whose grants have a fence, for a store that refuses lower ones.
//   - rw-lease: readers and a writer, each with its own lease by the server's clock; writers first.
//   - fair: a mutex granted in order of arrival; a waiter that crashes loses its place within a
//     lease.
//   - handoff: fair, but a release grants the lock to the first waiter, which blocks on a list.
//   - semaphore: n permits, each with its own lease by the server's clock.
//
// [lock] is common to all. Every request is one script, so that an uncontended acquire costs one
// round trip. A request has a token, and repeating it grants again: after a lost reply the client
// sends the request once more, and only if that fails too is the outcome unknown. Waiters are
// notified by a publication; they sleep at most a third of the lease or the rest of the holder's
// lease, in case a publication is lost. A client that gives up withdraws its token under its own
// context, because the caller's may have ended.
//
// All keys of a lock are in one hash slot. Times are whole milliseconds of the server's clock where
// clients must agree; the client's clock only determines until when a grant is valid.
//
// No lock survives a loss of data on the server (restart, failover) or a jump of its clock: two
// clients may then hold at once, and the fence counter, the only key that outlives the holds, may
// restart. The expectations of the locks say so.
package beyond
