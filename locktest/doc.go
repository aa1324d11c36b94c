// Package locktest is a conformance kit for distributed locks: it takes a constructor and runs one
// subtest per rule.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, func(c locktest.Config) (any, error) {
//			return mylock.New(c.Redis, c.Key, c.TTL), nil
//		})
//	}
//
// A lock is a value with Unlock(ctx) error and TryLock(ctx) (bool, error) or Lock(ctx) error or
// both. Its other methods show what more it can do: Extend(ctx) error, Token() string, ValidUntil()
// time.Time, Fence() uint64, RUnlock(ctx) error with RLock(ctx) error or TryRLock(ctx) (bool,
// error), Lost() <-chan struct{}, Close() error; package subject has the interfaces. [Promises]
// states what methods can't show; the kit detects by itself whether a lock renews its lease.
//
// Each rule has its own servers and clients. The kit can cut or slow their connections and lose
// requests and replies, and it records the requests, so that a message says what happened, after
// which steps: "other.TryLock succeeded while b held the lock (a holds; a is paused for a lease; b
// holds; a calls a release); b's key job was deleted by a.Unlock (DEL job)". By default a server is
// embedded (package fakeredis) in a testing/synctest bubble, where waiting costs no real time and
// leases end to the millisecond; [OnRedisServer] runs the rules on redis-server from PATH as well,
// in real time. A lock that keeps a mutex while it waits, or that can't be given connections, is
// tested in real time only.
//
// [Run] tries each situation a few times; [Explore] searches the schedules of messages and faults
// in the simulator. Both run in separate processes: a panic, an endless loop or a call that never
// returns fails one rule, with a stack.
//
// [Breaks] names the rules that a lock breaks by design; the kit must then see them broken. A rule
// that does not apply, or that has nothing to check, is skipped with the reason.
//
// Each rule is a row with its name, a sentence, what it needs of a lock, and the steps that clients
// take: ownership.go, leases.go, waiters.go, capabilities.go, modes.go and watchdogs.go have them,
// and steps.go has the steps. go test -v lists the rules, with the reason why one does not apply.
//
// A broken rule means a broken lock. A rule that holds is no proof: the kit tries situations, not
// every schedule, and does not test what a server forgets in a failover, a restart or a jump of its
// clock. The scenarios of lockbench test that.
package locktest
