// Package mutex is the family of plain mutual-exclusion locks on one Redis node: the ladder of the sources from
// EXISTS and SET up to SET NX PX with a token that only its owner's script deletes.
//
// Each variant does what its source prints, defects included, and no more: no retry, no clean-up and no check is added.
// What the variants share is only what a caller sees of them: [impls.Lock], the classification of replies, polling,
// and the state of a handle. A variant itself is a protocol: one function that asks once, one that releases,
// one that extends where the source has it.
//
// Two liberties are taken, both invisible on the server: a lease that is not whole seconds is given in milliseconds,
// and a release that deleted nothing returns ErrLost, where the sources drop the reply.
package mutex
