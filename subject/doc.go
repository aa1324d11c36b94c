// Package subject tests locks outside package impls: any Go lock with a minimal interface, and any
// lock in another process, in any language.
//
// A Go lock has Lock or TryLock, and Unlock; optional interfaces ([Extender], [Tokener], …) show
// what more it can do. [Adapt] makes it an impls.Lock.
//
// A lock in another process is a child: it reads requests from standard input and writes replies to
// standard output, a JSON object a line ([Request], [Reply]). [Serve] turns a Go lock into one, and
// [Start] runs one as a client, on this machine or behind a prefix such as "ssh {host}".
//
// Every wait is bounded: a child that is silent, exits, or writes a line that is no reply ends the
// run with an error that includes the end of its standard error. The package judges nothing and
// reads no clock of the child: the caller measures how long a call took.
//
// It imports package impls, and through it the Redis client, but nothing else outside the standard
// library, because the tests of libraries import it.
package subject
