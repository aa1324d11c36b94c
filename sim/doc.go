// Package sim runs real lock code in a deterministic world: virtual time, a simulated network whose
// every request and reply is released by a scheduler, and Redis nodes in memory whose clocks, data
// and failures the scheduler controls.
//
// One schedule is one run of a [Program] in its own testing/synctest bubble. Clients are goroutines
// that run a workload with the unmodified lock code, third-party libraries included; they dial
// connections of this package instead of sockets. The driver waits until every goroutine of the
// bubble is blocked (synctest.Wait), lists what could happen next in an order that depends only on
// names and contents, lets a strategy choose, and performs exactly that. The choices are the
// [Tape]; the same program and tape give the same trace, byte for byte. Decisions of the runtime do
// not affect it: what several goroutines do at one instant is sorted by names and contents,
// goroutines that are due at once wake one after the other, idle connections of a pool are
// interchangeable, requests sent together arrive together, and what a library draws from the
// process's random source is replaced by names that follow from the seed.
//
// A Program and a strategy give an [Outcome]: history, commands, effects, fault windows, tape and
// trace. [Simulator.Replay] runs a tape again. This package judges nothing; package search repeats
// schedules, judges them, and shrinks what breaks.
//
// A bubble settles only when nobody in it waits for a mutex. A lock that deadlocks on one, or holds
// one while it waits for time or the network and another of its goroutines needs it, would stop a
// schedule for ever; such a schedule is abandoned. A deadlock is a finding that says who waits
// where. If another goroutine waits for time or the network, and may hold the mutex, the lock
// cannot be explored, and the search is inconclusive. So what libraries do under a mutex must end
// by itself: a dial under a context that has ended fails at once.
//
// It reports no latencies, because time is virtual. It is not Redis: the nodes are miniredis; this
// package adds Lua, publish and subscribe, persistence, replication and cluster slots, and other
// tests compare every script with a real server.
//
// Where to look, from the ground up; no file uses what stands above it:
//
//   - world: what a run consists of (world, client, conn, node, option, Outcome), no behaviour;
//   - parts that know no other: time, trace, tokens, topology (which node is whose primary);
//   - what is run: program, and validate (which reads and checks a tape);
//   - connections and their messages: alias, record (what is kept of them), event (their names),
//     network, client;
//   - nodes, which are those of package fakeredis: node, effects (what changed data), state (of
//     everything, for a search that visits each once), replication, execute;
//   - faults: messagefaults, serverfaults, faults, placeable (those that a search may place);
//   - what may happen next: scheduler, strategy, walk (all schedules), tape (a schedule again);
//   - one run: settle (what happens at one instant), driver (one event at a time), run (its beginning
//     and its end), outcome, standstill (bubbles that never settle), simulator (what outlives a run);
//   - outside: a world outside, in which strategies of this package order the messages.
package sim
