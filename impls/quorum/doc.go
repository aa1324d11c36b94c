// Package quorum is Redlock: one lock on N masters that know nothing of each other, held by whoever has a majority of them
// for less than the lease.
//
// Every call is a [ballot]: the same request to all nodes at once, each bounded by a time-out far below the lease, each
// answering yes, no or nothing. An acquire is granted at the yes of the majority, without waiting for a node that hangs, if
// the clock, read again, says that some of the lease is left. The first clock read is before the first request and
// the second after the last vote that counts, so a client that was stalled in between finds out.
//
// A node whose answer did not count may hold the key all the same. So whatever was asked is taken back everywhere: after a
// failed acquire, and by a release, nodes believed unlocked included; and a node that answers only after that is asked
// once more. This goes on in the background; Close waits for it. The package refuses to guess: nodes without an answer are
// counted for neither side.
package quorum
