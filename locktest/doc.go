// Package locktest is a conformance kit for distributed locks: one constructor in, named subtests out, each with the sentence of
// the rule that it checks.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, locktest.Plain(func(env impls.Env) (locktest.Locker, error) { return mylock.New(env.Redis(), env.Key), nil }))
//	}
//
// The rules are listed in one table, [Rules]. What a lock can do ([Can]) decides which of them apply; the others are skipped with
// the reason. A rule that a lock breaks by design is named by [Breaks], and the kit must then see it broken: an
// expectation that nobody can meet any more is an error too.
//
// Each rule has a world of its own: Redis nodes, clients with connections that can be cut or slowed, clocks that can be
// off. By default a node is a miniredis inside a testing/synctest bubble, where time costs nothing and leases end to the millisecond;
// [OnRedisServer] runs the rules on redis-server from PATH as well, in real time.
//
// A broken rule is a broken lock. A rule that holds is none that holds always: the kit tries each situation a few times, not every
// schedule, and it does not look at what a server forgets by failover, restart or a jump of its clock. That is what the
// scenarios are for.
package locktest
