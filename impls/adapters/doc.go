// Package adapters adapts third-party lock libraries to the lock contract: redsync, bsm/redislock
// and rueidislock.
//
// An adapter does not change the behaviour of its library. It passes the client's connections and,
// if possible, its randomness; it maps the library's errors to the contract's, to ErrUnknownOutcome
// if the library does not say; and it refuses to release a lock that the handle does not hold.
//
// Each library comes with its own defaults, except for the lease, and normalised with the retry
// interval of all other locks. The libraries sleep by the machine's clock.
package adapters
