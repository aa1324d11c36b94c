package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
)

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

// state returns the hash of the world's state. ok is false when part of it cannot be hashed: a node keeps a type of which there is no copy, or a
// connection watches keys. 64 bits: among a million states two are taken for one with a chance of 1 in 40 million.
func (w *world) state() (h uint64, ok bool) {
	now := time.Now()
	h = mix(mix(hashStart, uint64(w.now())), uint64(w.waited))
	for _, n := range w.nodes {
		d := n.copy(now)
		if !d.complete() {
			return 0, false
		}
		h = mix(mix(h, d.digest()), n.condition(w))
	}
	for _, a := range w.actors {
		h = mix(h, a.condition())
	}
	links, ok := w.linkStates()
	h = mix(mix(h, links), w.network())
	h = mix(mix(h, w.faultLog), uint64(w.budget)<<32|uint64(w.waits))
	for _, t := range w.timed {
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
	h = mix(h, bits(n.down, n.still))
	if n.down {
		h = mix(mix(h, n.kept.digest()), n.had.digest())
	}
	var scripts uint64
	for sha := range n.scripts {
		scripts += mixText(hashStart, sha)
	}
	h = mix(h, scripts)
	for _, set := range []map[string][]*link{n.subs.channels, n.subs.patterns} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			h = mixText(h, name)
			for _, l := range set[name] {
				h = mix(h, l.place())
			}
		}
		h = mix(h, 0)
	}
	return h
}

// learn notes something that a client is told now. What it is told at one event has no order: which of its goroutines was first is the runtime's secret.
func (a *actor) learn(place, what uint64) {
	w := a.world
	if !w.bounds.Instant {
		return
	}
	if a.learnt != w.step {
		a.seen, a.sum, a.learnt = mix(a.seen, a.sum), 0, w.step
	}
	a.sum += mix(mix(mix(hashStart, uint64(w.now())), place), what)
}

// condition is a hash of what a client was told, and of what it is under.
func (a *actor) condition() uint64 {
	h := mix(mix(mix(hashStart, a.seen), a.sum), a.order)
	for _, op := range a.open {
		h = mix(mix(h, uint64(op.Op)), a.before(op))
	}
	h = mix(h, bits(a.done, a.paused, a.crashed, a.frozen, a.kept != nil))
	return mix(mix(h, uint64(a.sent)), uint64(a.holds)<<32|uint64(len(a.held)))
}

// before is a hash of how many operations of each other client had returned when one of the client was called and, where a belief may end with it,
// when it returned.
func (a *actor) before(op history.Operation) uint64 {
	h := uint64(hashStart)
	ends := op.Op == history.Extend && op.Outcome != history.OK || op.Op == history.Lost
	for _, o := range a.world.actors {
		called, returned := 0, 0
		for i := range o.ops {
			called += boolInt(o.ops[i].Return < op.Call)
			returned += boolInt(ends && o.ops[i].Return < op.Return)
		}
		h = mix(h, uint64(called)<<32|uint64(returned))
	}
	return h
}

// linkStates is a hash of all connections. Those of a client to one node have no order: which of its goroutines got which is the runtime's secret.
func (w *world) linkStates() (h uint64, ok bool) {
	for _, l := range w.links {
		if l.watches && !l.shut {
			return 0, false
		}
		if l.shut && len(l.requests) == 0 {
			continue // nothing comes of it any more
		}
		h += l.condition()
	}
	return h, true
}

func (l *link) condition() uint64 {
	h := mix(mix(mix(hashStart, l.place()), l.asked), uint64(l.server.index))
	h = mix(h, bits(l.shut, l.lost != nil, l.waiting, l.parked != nil))
	for _, t := range []time.Time{l.readBy, l.writeBy, l.sentUntil, l.givenUntil} {
		h = mix(h, instant(t))
	}
	for _, q := range l.requests {
		h = mix(mix(mix(h, hashArgs(q.args)), bits(q.withheld, q.kept, q.doomed, q.quiet)), instant(q.held))
		h = mix(h, q.batch.condition(q))
	}
	h = mix(h, uint64(len(l.requests)))
	for _, r := range l.replies {
		h = mix(mix(mixText(h, r.bytes), bits(r.kept, r.lost)), instant(r.held))
		if r.request != nil {
			h = mix(mix(h, hashArgs(r.request.args)), r.request.batch.condition(r.request))
		}
	}
	if q := l.parked; q != nil {
		h = mix(mix(h, hashArgs(q.args)), uint64(q.parkedAt))
	}
	return mixText(h, l.arrived)
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
		h += mix(mix(hashStart, uint64(k.actor)), uint64(k.node))
	}
	h = mix(mix(h, uint64(w.slow.delay)), uint64(w.slow.rate*1e3))
	h = mix(h, uint64(w.noSubscribers)<<32|uint64(w.primary)<<2|bits(w.pair.stopped, w.pair.cut))
	for _, d := range w.pair.stream {
		h = mix(h, d.digest())
	}
	for _, n := range w.nodes {
		for _, q := range n.waiting {
			h = mix(mix(h, q.link.place()), uint64(max(q.upTo-w.pair.applied, 0)))
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
	for _, a := range w.actors {
		h = mix(h, uint64(len(a.ops))<<32|uint64(len(a.open)))
	}
	w.faultLog = h
}

// perform lets a link's node run a command, and keeps what a state needs: the order of commands that change data.
func (w *world) perform(l *link, args []string) (reply []byte) {
	w.watching(l, args, func() []byte {
		reply = l.server.execute(l.session, args, time.Now())
		if w.bounds.Instant {
			reply = slices.Clone(reply) // copying the data uses the node
		}
		return reply
	})
	return reply
}

// takes lets a link's node do what a blocking command waits for.
func (w *world) takes(q *request, args []string) (reply []byte, ok bool) {
	w.watching(q.link, args, func() []byte {
		reply, ok = q.link.server.take(q.link.session, args)
		return reply
	})
	return reply, ok
}

// watching notes what a command that a node runs for a link does, for states.
func (w *world) watching(l *link, args []string, run func() (reply []byte)) {
	if !w.bounds.Instant {
		run()
		return
	}
	n, now, what := l.server, time.Now(), hashArgs(args)
	before := n.copy(now).digest()
	l.asked = mixText(mix(l.asked, what), run())
	if n.copy(now).digest() != before {
		n.changes = mix(mix(n.changes, l.place()), what)
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
