// Package sim is the deterministic world: real lock code, virtual time, a simulated network whose every request and reply
// is released by a scheduler, and Redis nodes in memory whose clocks, data and lives the scheduler owns.
//
// One schedule is one run of a [Program] in a testing/synctest bubble of its own. Clients are goroutines that run a workload over
// the shipped lock code, third-party libraries included; they dial conns of this package instead of sockets. The driver
// waits until every goroutine of the bubble is blocked (synctest.Wait), lists what could happen next in an order that
// depends on names alone, asks a [Strategy] to choose, and lets exactly that happen. What was chosen is the [Tape]; the
// same program and tape give the same trace, byte for byte. What the runtime decides is kept out of it: of several goroutines that run at one
// instant what they did is sorted by names and contents before it counts, several that are to wake do so one after the other, idle connections
// of a pool are all one, requests that were sent together arrive together, and what a library draws from the process's random source is
// called by names that follow from the seed.
//
// Data flows: Program and Strategy in, [Outcome] (history, commands, fault windows, tape, trace) out; the package checker
// judges the outcome. Not every violation is a finding: what befell a client that outlived its lease, or whose own messages were held up, is
// excused. [Explore] repeats this over many schedules in worker processes, so that a crash, a deadlock or an
// endless loop of the lock under test is a finding and not the end of lockbench; [Shrink] makes a failing tape small;
// [Replay] runs a tape again.
//
// A bubble settles only when nobody in it waits for a mutex. A lock that deadlocks on one, or keeps one while it waits for time or the network and
// another of its goroutines wants it, would stop a schedule for ever; such a schedule is abandoned. A deadlock is a finding that says who waits where; where
// another goroutine of the client waits for time or the network, and may have the mutex, the lock is not explorable, and the search is inconclusive.
// So what libraries do under a mutex must end by itself: a dial under a context that has ended fails at once.
//
// It refuses to report latencies: time here is made up. It is not Redis: the nodes are miniredis with Lua, publish and
// subscribe, persistence, replication and the slots of a cluster added here, and every script is compared with a real server elsewhere.
package sim
