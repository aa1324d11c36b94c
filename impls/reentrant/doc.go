// Package reentrant is the family of locks that their holder may acquire again, and of those that restart their lease by
// themselves while they are held.
//
// There are two ways of counting. reentrant-hash, watchdog-timer and redisson keep a hash of owner and count on the
// server, and every call asks it; they share the handle [hashLock] and differ in their scripts, in whether a watchdog runs, and
// in how they wait. reentrant-local and watchdog-bounded count in the client, as their source does, and ask
// the server only for the outermost hold; they share the handle [localLock].
//
// What runs in the background belongs to a handle: it sleeps by the client's clock, so that a stalled client's
// watchdog is stalled too, it ends with the hold or with Close, and Close waits for it. Nothing is mended: a watchdog that its
// source lets sleep too long sleeps too long here.
package reentrant
