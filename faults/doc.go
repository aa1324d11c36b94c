// Package faults defines what can go wrong in a run: the faults, the plans that place them, and the
// [Director] that applies them to a [World].
//
// A [Spec] says what is done and at which moment. A World is the simulator's, or real clients,
// links and servers (package inject). The Director is called at the moments that clients reach and
// at the messages that the plan watches, and applies the faults placed there.
//
// A fault that a machine or topology cannot apply, such as the eviction of keys on a cluster, is
// refused before the clients begin.
//
// Each fault is confirmed and its window measured (history.Window). One that could not be confirmed
// makes a run inconclusive, never a pass.
package faults
