// Package subject takes locks that are no variant of package impls under test: any Go lock with the smallest of interfaces,
// and any lock in another process, whatever language it is written in.
//
// A Go lock is a value with Lock or TryLock, and Unlock; what more it can do shows in the optional interfaces that it
// has ([Extender], [Tokener], …). [Adapt] puts the contract of package impls over it.
//
// A lock in another process is a child: a program that reads requests from standard input and writes replies to standard output,
// one JSON object a line, see [Request] and [Reply]. [Serve] makes such a program of a Go lock, and [Start] runs one as a client
// of a run: on this machine or, behind a prefix such as "ssh {host}", on another.
//
// It refuses to wait for ever: a child that is silent, dies, or says what is no reply ends the run with an error that ends in the
// child's last words. It judges nothing, and reads no clock of the child's: how long a call took is what the caller measures.
//
// It imports the lock contract and, by that, the Redis client, and nothing else outside the standard library: a library's tests
// use it.
package subject
