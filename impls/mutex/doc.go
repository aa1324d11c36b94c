// Package mutex has the plain mutexes on one Redis node, from EXISTS and SET up to SET NX PX with a
// token that only its owner's script deletes.
//
// Each lock does exactly what its source prints, defects included, without added retries, clean-ups
// or checks. The locks share [impls.Lock], the classification of replies, polling, and the state of
// a handle; each has its own protocol of acquire, release, and extend if the source has it.
//
// There are two differences, invisible on the server: a lease that is not whole seconds is given in
// milliseconds, and a release that deleted nothing returns ErrLost, where the sources ignore the
// reply.
package mutex
