// Package subject tests locks that are no variant of package impls: any Go lock with a minimal interface, and any lock in another process, in any
// language.
//
// A Go lock is a value with Lock or TryLock, and Unlock; the optional interfaces that it has ([Extender], [Tokener], …) show what more it can do.
// [Adapt] gives it the interface of package impls.
//
// A lock in another process is a child: a program that reads requests from standard input and writes replies to standard output, one JSON object a
// line, see [Request] and [Reply]. [Serve] turns a Go lock into such a program, and [Start] runs one as a client of a run: on this machine or, with a
// prefix such as "ssh {host}", on another.
//
// Every wait is bounded: a child that is silent, exits, or writes a line that is no reply ends the run with an error that includes the end of its
// standard error. The package judges nothing and reads no clock of the child: the caller measures how long a call took.
//
// It imports package impls, and through it the Redis client, but nothing else outside the standard library, because the tests of libraries import it.
package subject
