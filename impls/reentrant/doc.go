// Package reentrant has the re-entrant locks of the sources, and those that extend their lease in
// the background.
//
// reentrant-hash, watchdog-timer and redisson keep a hash of owner and count on the server
// ([hashLock]); they differ in their scripts, in whether a watchdog runs, and in how they wait.
// reentrant-local and watchdog-bounded count in the client, and use the server only for the
// outermost hold ([localLock]).
//
// Background goroutines belong to a handle. They sleep by the client's clock, so that a stalled
// client's watchdog stalls too, and end with the hold or with Close, which waits for them. Defects
// of the sources are kept.
package reentrant
