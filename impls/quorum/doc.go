// Package quorum is Redlock: one lock on N independent masters, held by the client that has a
// majority of them, for less than the lease.
//
// Every call is a [ballot]: the same request to all nodes concurrently, each with a timeout far
// below the lease. An acquire is granted when a majority has granted it, without waiting for
// hanging nodes, if some of the lease is left. The clock is read before the first request and after
// the deciding vote, so that a client that was stalled in between notices.
//
// A node whose reply did not count may still hold the key. So a failed acquire and a release delete
// the key on all nodes, and again on nodes that reply later. This runs in the background; Close
// waits for it. Nodes without a reply count for neither side.
package quorum
