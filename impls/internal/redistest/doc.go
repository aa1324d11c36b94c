// Package redistest provides a server, clients with faulty connections, and lock handles for the
// tests of the lock families.
//
// Virtual runs a test against miniredis in a testing/synctest bubble, where time is free and expiry
// exact. Real runs it against redis-server from PATH, and skips it if there is none, unless the
// environment variable LOCKBENCH_REQUIRE names "process". Both runs it against each.
package redistest
