// Package impls is the lock contract: the interface of every lock that lockbench tests, its errors,
// and its entry in the catalogue.
//
// Each family of locks is a package below (mutex, reentrant, quorum, rw, …) with its Lua in .lua
// files; the package catalogue lists them all. Time, randomness and connections come from [Env], so
// that the same lock runs on a real server and in the deterministic simulator.
//
// Every error of a [Lock] matches exactly one of ErrBusy, ErrNotHeld, ErrLost, ErrUnavailable,
// ErrCancelled, ErrUnknownOutcome and ErrUnsupported, except that a call that was cancelled after
// its request was sent matches both ErrCancelled and ErrUnknownOutcome.
package impls
