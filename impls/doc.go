// Package impls is the lock contract: what every distributed lock that lockbench can judge looks like to its
// client, which errors it may answer, and what a catalogue entry says about it.
//
// A family of variants lives in its own folder below (mutex, reentrant, quorum, rw, …), its Lua in .lua files; the
// catalogue folder lists them all in one slice. This package and the families know nothing of workloads, faults or
// the checker. Time, randomness and connections are passed in by [Env], so that the same lock code runs on
// a real server and in the deterministic simulator.
//
// It refuses to hide an outcome. Every error that a [Lock] returns matches exactly one of the sentinels ErrBusy,
// ErrNotHeld, ErrLost, ErrUnavailable, ErrCancelled, ErrUnknownOutcome and ErrUnsupported by errors.Is, save
// that a cancelled call whose request was already on its way is both cancelled and unknown.
package impls
