// Package adapters puts third-party lock libraries behind the lock contract: redsync, bsm/redislock and rueidislock.
//
// An adapter changes nothing in the behaviour of its library. It hands over the client's connections and, where the library
// takes them, its randomness; it turns the library's errors into the contract's, and says unknown where the library does not
// tell; it remembers whether something is held, so that a release of nothing is not sent. What the library swallows stays
// swallowed, and what it does behind the caller's back is done.
//
// Each library comes with its own defaults, apart from the lease, and in a normalised form with the same retry interval as
// all other locks. The libraries sleep by the machine's clock.
package adapters
