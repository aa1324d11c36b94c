// Package beyond is the locks that a reader may adopt: what is left when the defects of the sources are mended one by one.
//
//   - fenced: a mutex whose grants carry a fence, taken in the same step, for a store that refuses lower ones.
//   - rw-lease: readers and a writer, every one with a lease of its own by the server's clock; writers come first.
//   - fair: a mutex granted in order of arrival; a waiter that dies loses its place within a lease.
//   - semaphore: n permits, every one with a lease of its own by the server's clock.
//
// What they have in common is in [lock]. Every request is one script, so that an acquire that meets nobody costs one round
// trip. A request names a token, and asking again under the same token grants again: a reply that was lost is asked for
// once more, and only when that fails too is the outcome unknown. Waiters are woken by a publication, and sleep at most
// a third of the lease or the rest of the holder's, whichever is less: a lost publication costs that, and nothing else. A client that gives up
// withdraws its token under a context of its own, since the caller's has ended by then.
//
// All keys of a lock lie in one hash slot. Times are whole milliseconds, by the server's clock where clients must
// agree on them; the client's own clock only says until when a grant is good.
//
// The package refuses what no lock can promise: after a loss of data on the server (restart, failover), or a jump of its
// clock, two clients may hold at once, and the fence counter may begin anew. It says so in the expectations of its variants.
// The fence counter is the one key that outlives the holds.
package beyond
