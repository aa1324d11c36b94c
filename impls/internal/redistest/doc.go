// Package redistest gives the tests of the lock families a server, clients whose connections can be tampered with, and
// handles that say what they were asked when the answer is wrong. It knows no family: a test passes its variants in.
//
// Virtual runs a test against miniredis in a testing/synctest bubble, where time costs nothing and expiry is exact.
// Real runs it against redis-server from PATH, and skips it when there is none, unless the environment variable
// LOCKBENCH_REQUIRE names "process". Both runs it against each in turn.
package redistest
