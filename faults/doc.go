// Package faults is what can go wrong: the vocabulary of faults, plans that place them, and the injectors that do them
// in the real world, to a client, to the network between, and to a server.
//
// A [Spec] says what is done and at which moment. Client faults go through a [Gate], one for each client, which stands between
// the client and everything it could do: its connections, its clock, its steps. Network faults go through a RESP-aware
// proxy between a client and a node. Server faults go to a servers.Deployment.
//
// Each injected fault is confirmed and its window measured (history.Window). A fault that did not take makes a run
// inconclusive, never a pass. This package knows nothing of the checker.
package faults
