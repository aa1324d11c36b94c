package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
)

// exhaust walks all schedules within its bounds, depth first, by running the program again for each with a longer prefix of
// choices. A state that has been seen is not gone into again, see state below. A state that cannot be hashed always is.
//
// Two workers share the walk by its first decisions: each goes only into what is its own.
type exhaust struct {
	path    []branch // the schedule under way and what is left to do at each of its decisions
	at      int      // how many decisions of it have been taken
	seen    map[uint64]struct{}
	part    int // of parts
	parts   int
	pruned  int
	unknown int  // states that could not be hashed
	whole   bool // nothing is pruned
	begun   bool
	stopped bool // the walk is over
	broken  bool // a prefix did not lead where it led before: the program is not deterministic
}

// branch is one decision: which of how many ways was taken last, and what had happened before it.
type branch struct {
	taken, ways int
	traceHash   uint64 // 0: not known
}

// shared is how many decisions deep the workers' parts divide.
const shared = 3

// newExhaust starts a walk; prefix, when there is one, is the one schedule that is walked.
func newExhaust(part, parts int, prefix []int) *exhaust {
	e := &exhaust{seen: map[uint64]struct{}{}, part: part, parts: max(parts, 1)}
	for _, taken := range prefix {
		e.path = append(e.path, branch{taken: taken, ways: taken})
	}
	return e
}

// next prepares the next schedule; false when all have been walked.
func (e *exhaust) next() bool {
	if e.stopped {
		return false
	}
	e.at = 0
	if !e.begun {
		e.begun = true
		return true
	}
	for len(e.path) > 0 {
		last := &e.path[len(e.path)-1]
		if last.taken+1 < last.ways {
			last.taken++
			return true
		}
		e.path = e.path[:len(e.path)-1]
	}
	e.stopped = true
	return false
}

// choose takes the decision of the path, or opens a new one. Decisions with one way are not decisions.
func (e *exhaust) choose(m moves) option {
	ways := m.options
	ways = append(ways[:len(ways):len(ways)], m.faults()...)
	if m.wait {
		ways = append(ways, option{kind: waitForTime})
	}
	if len(ways) == 1 {
		return ways[0]
	}
	if e.at == len(e.path) {
		if e.known(m) {
			return option{kind: giveUp}
		}
		e.path = append(e.path, branch{ways: len(ways), traceHash: m.traceHash()})
	}
	e.at++
	if b := e.path[e.at-1]; b.taken >= len(ways) || b.traceHash != 0 && b.traceHash != m.traceHash() {
		e.broken = true
		return option{kind: giveUp}
	}
	if e.at == shared && !e.mine() {
		return option{kind: giveUp}
	}
	return ways[e.path[e.at-1].taken]
}

// known reports whether a state has been gone into, and notes it. Decisions that the workers share out are not pruned.
func (e *exhaust) known(m moves) bool {
	if e.at < shared || e.whole {
		return false
	}
	state, ok := m.state()
	if !ok {
		e.unknown++
		return false
	}
	if _, ok := e.seen[state]; ok {
		e.pruned++
		return true
	}
	e.seen[state] = struct{}{}
	return false
}

// mine reports whether the first decisions belong to this worker.
func (e *exhaust) mine() bool {
	h := uint64(hashStart)
	for _, b := range e.path[:shared] {
		h = mix(h, uint64(b.taken))
	}
	return int(h>>8%uint64(e.parts)) == e.part
}

// prefix is the path of the schedule under way.
func (e *exhaust) prefix() []int {
	taken := make([]int, len(e.path))
	for i, b := range e.path {
		taken[i] = b.taken
	}
	return taken
}

// An exhaustive walk goes into a state once. Two schedules are in one state when whatever may still come is the same for both, and when nothing that a
// judge looks at tells their pasts apart. What a program of a client will do cannot be looked at; it follows from what it was told, and when. So a state is
//
//   - the instant, to the nanosecond. In a walk events take no time (Bounds.Instant), or no two orders of the same events would ever meet;
//   - of each client what it was told and when: bytes, the ends of connections, what became of each dial, the ends of its sleeps;
//   - of each connection what is on its way, what is held back and until when, what waits at the node, and what the node was asked over it;
//   - of each node its data with the instants at which they end, its clock and rate, its scripts, subscribers and waiters, and what it keeps while it is down;
//   - what lies in the way: cuts, slowness, replication, everything that was arranged for an instant, and what strikes are still due;
//   - and of the past, which a judge sees in the future too: every fault with its instants, the order of commands that changed data on each node,
//     and which operation had returned when another was called.
//
// What is left out is the order of events of one instant that this does not show: two replies to two clients, say, or two commands
// at one node of which neither changed anything.

// state returns the hash of the world's state. ok is false while a connection watches keys: what a node noticed of them since it keeps to
// itself. Types of which a node has no copy, such as streams, no lock can make: see exact. 64 bits: among a million states two are taken for one with a chance of 1 in 40 million.
func (w *world) state() (h uint64, ok bool) {
	now := time.Now()
	h = mix(mix(hashStart, uint64(w.now())), uint64(w.waited))
	for _, n := range w.nodes {
		h = mix(mix(h, n.copy(now).digest()), n.condition(w))
	}
	for _, c := range w.clients {
		h = mix(h, c.condition())
	}
	links, ok := w.connStates()
	h = mix(mix(h, links), w.network())
	h = mix(mix(h, w.faultLog), uint64(w.budget)<<32|uint64(w.waits))
	for _, t := range w.timers {
		h = mix(h, uint64(t.at.Sub(w.start)))
	}
	return h, ok
}

// condition is a hash of what a node is and knows, apart from its data.
func (n *node) condition(w *world) uint64 {
	h := mix(mix(mix(hashStart, n.changes), uint64(n.clock.offset)), n.lua.random.x)
	if n.clock.rate != 1 {
		h = mix(mix(h, uint64(n.clock.rate*1e9)), uint64(n.clock.since.Sub(w.start)))
	}
	h = mix(h, bits(n.down, n.paused))
	if n.down {
		h = mix(mix(h, n.kept.digest()), n.had.digest())
	}
	var scripts uint64
	for sha := range n.scripts {
		scripts += mixText(hashStart, sha)
	}
	h = mix(h, scripts)
	for _, set := range []map[string][]*conn{n.subs.channels, n.subs.patterns} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			h = mixText(h, name)
			for _, cn := range set[name] {
				h = mix(h, cn.place())
			}
		}
		h = mix(h, 0)
	}
	return h
}

// observe notes something that a client is told now. What it is told at one event has no order: which of its goroutines was first is the runtime's secret.
func (c *client) observe(place, what uint64) {
	w := c.world
	if !w.bounds.Instant {
		return
	}
	if c.observedStep != w.step {
		c.observed, c.observedNow, c.observedStep = mix(c.observed, c.observedNow), 0, w.step
	}
	c.observedNow += mix(mix(mix(hashStart, uint64(w.now())), place), what)
}

// condition is a hash of what a client was told, and of what it is under.
func (c *client) condition() uint64 {
	h := mix(mix(mix(hashStart, c.observed), c.observedNow), c.order)
	for _, op := range c.open {
		h = mix(mix(h, uint64(op.Op)), c.before(op))
	}
	h = mix(h, bits(c.done, c.paused, c.crashed, c.recordClosed, c.blockedMoment != nil))
	return mix(mix(h, uint64(c.sent)), uint64(c.momentHolds)<<32|uint64(len(c.waitingForResume)))
}

// before is a hash of how many operations of each other client had returned when one of the client was called and, where a belief may end with it,
// when it returned.
func (c *client) before(op history.Operation) uint64 {
	h := uint64(hashStart)
	ends := op.Op == history.Extend && op.Outcome != history.OK || op.Op == history.Lost
	for _, o := range c.world.clients {
		called, returned := 0, 0
		for i := range o.ops {
			called += boolInt(o.ops[i].Return < op.Call)
			returned += boolInt(ends && o.ops[i].Return < op.Return)
		}
		h = mix(h, uint64(called)<<32|uint64(returned))
	}
	return h
}

// connStates is a hash of all connections. Those of a client to one node have no order: which of its goroutines got which is the runtime's secret.
func (w *world) connStates() (h uint64, ok bool) {
	for _, cn := range w.conns {
		if cn.watches && !cn.shut {
			return 0, false
		}
		if cn.shut && len(cn.requests) == 0 {
			continue // nothing comes of it any more
		}
		h += cn.condition()
	}
	return h, true
}

func (cn *conn) condition() uint64 {
	h := mix(mix(mix(hashStart, cn.place()), cn.history), uint64(cn.server.index))
	h = mix(mix(h, bits(cn.shut, cn.lost != nil, cn.waiting, cn.parked != nil)), uint64(cn.world.replication.writes-cn.seen))
	for _, t := range []time.Time{cn.readBy, cn.writeBy, cn.sentUntil, cn.givenUntil} {
		h = mix(h, instant(t))
	}
	for _, q := range cn.requests {
		h = mix(mix(mix(h, hashArgs(q.args)), bits(q.withheld, q.kept, q.doomed, q.handshake)), instant(q.held))
		h = mix(h, q.batch.condition(q))
	}
	h = mix(h, uint64(len(cn.requests)))
	for _, r := range cn.replies {
		h = mix(mix(mixText(h, r.bytes), bits(r.kept, r.lost)), instant(r.held))
		if r.request != nil {
			h = mix(mix(h, hashArgs(r.request.args)), r.request.batch.condition(r.request))
		}
	}
	if q := cn.parked; q != nil {
		h = mix(mix(h, hashArgs(q.args)), uint64(q.parkedAt))
	}
	return mixText(h, cn.arrived)
}

// condition is a hash of where in a batch a request is, and of which replies there are.
func (b *batch) condition(q *request) uint64 {
	if b == nil {
		return 0
	}
	h := mix(hashStart, uint64(slices.Index(b.written, q)))
	for _, r := range b.replies {
		h = mix(h, bits(r != nil))
	}
	return h
}

// network is a hash of what lies between clients and nodes, and between the nodes of a pair.
func (w *world) network() uint64 {
	var h uint64
	for k := range w.cut {
		h += mix(mix(hashStart, uint64(k.client)), uint64(k.node))
	}
	h = mix(mix(h, uint64(w.slow.delay)), uint64(w.slow.rate*1e3))
	h = mix(h, uint64(w.noSubscribers)<<32|uint64(w.primary)<<2|bits(w.replication.stopped, w.replication.cut))
	h = mix(mix(h, uint64(w.replication.writes-w.replication.applied)), bits(w.replication.apart))
	for _, u := range w.replication.stream {
		h = mix(mix(h, u.digest()), uint64(w.replication.writes-u.write)<<1|bits(u.whole))
	}
	for _, n := range w.nodes {
		for _, q := range n.waiting {
			h = mix(mix(h, q.conn.place()), uint64(w.replication.writes-q.upTo))
		}
	}
	select {
	case <-w.stop:
		return mix(h, 1)
	default:
		return h
	}
}

// noteState adds the beginning or the end of a fault to what a state knows of the past, with what had been done by then.
func (w *world) noteState(what string, client string, node int) {
	if !w.bounds.Instant {
		return
	}
	h := mix(mixText(mixText(w.faultLog, what), client), uint64(node))
	h = mix(h, uint64(w.now()))
	for _, c := range w.clients {
		h = mix(h, uint64(len(c.ops))<<32|uint64(len(c.open)))
	}
	w.faultLog = h
}

// perform lets a connection's node run a command, and keeps what a state needs: the order of commands that change data.
func (w *world) perform(cn *conn, args []string) (reply []byte) {
	w.watching(cn, args, func() []byte {
		reply = cn.server.execute(cn.session, args, time.Now())
		if w.bounds.Instant {
			reply = slices.Clone(reply) // copying the data uses the node
		}
		return reply
	})
	return reply
}

// takes lets a connection's node do what a blocking command waits for.
func (w *world) takes(q *request, args []string) (reply []byte, ok bool) {
	w.watching(q.conn, args, func() []byte {
		reply, ok = q.conn.server.take(q.conn.session, args)
		return reply
	})
	return reply, ok
}

// watching notes what a command that a node runs for a connection does, for states.
func (w *world) watching(cn *conn, args []string, run func() (reply []byte)) {
	if !w.bounds.Instant {
		run()
		return
	}
	n, now, what := cn.server, time.Now(), hashArgs(args)
	before := n.copy(now).digest()
	cn.history = mixText(mix(cn.history, what), run())
	if n.copy(now).digest() != before {
		n.changes = mix(mix(n.changes, cn.place()), what)
	}
}

// instant is a time as a number; 0 for none.
func instant(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// bits packs what is so and what is not.
func bits(all ...bool) (b uint64) {
	for _, is := range all {
		b = b<<1 | uint64(boolInt(is))
	}
	return b
}
