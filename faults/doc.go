// Package faults is what can go wrong: the vocabulary of faults, plans that place them, and the injectors that do them
// in the real world, to a client, to the network between, and to a server.
//
// A [Spec] says what is done and at which moment. Client faults go through a [Gate], one for each client, which stands between
// the client and everything it could do: its connections, its clock, its steps. Network faults go through a RESP-aware
// proxy between a client and a node. Server faults go to a servers.Deployment. A [Director] learns of the moments that clients come to and
// has the faults done that are placed there; what it does to the network and to servers goes through [Injections], which asks an [Injector]
// for each. Where messages are led through the order of a tape, a [Sequencer] has them pass one by one.
//
// It refuses to do a fault by halves: what a machine or a topology cannot have done to it, such as the eviction of a lock's keys on a cluster,
// is refused before its clients begin.
//
// Each injected fault is confirmed and its window measured (history.Window). A fault that did not take makes a run
// inconclusive, never a pass. This package knows nothing of the checker.
package faults
