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
// Where to look:
//
//   - one run: program (what is run), simulator (what outlives a run), run (its beginning and its
//     end), outcome, world, driver (one event at a time), settle (what happens at one instant),
//     standstill (bubbles that never settle), loop (clients that repeat something for ever);
//   - the parts of a world that know no other: time, topology (which node is whose primary),
//     obstacles (of the network), scripts;
//   - what may happen next: scheduler, event, strategy, walk and state (all schedules, each state
//     once), placeable (faults that a search may place);
//   - clients and the network: client, tokens, network, batch, alias;
//   - nodes, which are those of package fakeredis: node, execute, blocking, replication, effects
//     (what changed data);
//   - faults: faults, messagefaults, serverfaults;
//   - what is kept of a run: record, trace, tape and validate (which checks a tape that is read);
//   - a world outside, in which strategies of this package order the messages: outside.
package sim

import (
	"sync/atomic"

	"github.com/lockbench/lockbench/faults"
)

// world is one run: nodes, clients, the network between them, and the driver that performs one
// event at a time.
type world struct {
	program  Program
	strategy Strategy
	bounds   Bounds
	virtual  // time, and the mutex that guards the fields below, clients and conns
	topology // of the nodes
	obstacles
	luaScripts
	stop     chan struct{}          // closed when no new round may begin
	bubble   atomic.Pointer[string] // the runtime's number of the bubble; nil until known
	turns    atomic.Uint64          // of the driver, to see from outside that it goes on
	echo     func(Choice)           // see Watch
	expected int                    // about how many commands all clients will send

	clients    []*client
	gone       bool // all clients have ended
	lastRounds bool // stop is closed

	conns []*conn          // in order of client, node, number
	past  map[uint64]*past // of the connections, by place
	fresh []*request       // sent, not yet seen by the driver
	sent  int              // commands, by all clients

	director *faults.Director

	step   int // of the schedule
	waits  int // how often the strategy has let time pass
	budget int // faults that the strategy may still place

	trace    trace
	effects  []effect // of the lock's nodes
	out      Outcome  // so far
	faultLog uint64   // hash of the faults so far, see state

	possible  []option // reused by options
	placeable []option // reused by faults
	content   []byte   // reused for the content of requests
}

func (w *world) enqueue(q *request) {
	c := q.conn.client
	c.sent++
	q.op, q.sent, q.ready = w.director.Plan().Operation(c.index+1, q.conn.target() < 0), w.timeline(), w.step
	q.command = len(c.commands)
	c.commands = append(c.commands, commandOf(q))
	q.conn.requests = append(q.conn.requests, q)
	q.withheld = c.paused
	q.held = w.onItsWay(sizeOf(q.args), &q.conn.sentUntil)
	w.fresh = append(w.fresh, q)
	w.wakeDriver()
}

// enqueueReply makes a reply or a message an event. The driver calls it.
func (w *world) enqueueReply(r *reply) {
	r.ready = w.step
	r.held = w.onItsWay(len(r.bytes), &r.conn.givenUntil)
	r.conn.replies = append(r.conn.replies, r)
}
