package sim

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// An exhaustive walk explores a state once. Two schedules are in the same state when the same may
// still happen in both, and no judge can tell their pasts apart. What a client's program will do
// follows from what the client received, and when. So a state consists of
//
//   - the instant, to the nanosecond. In a walk events take no time (Bounds.Instant), since
//     otherwise two orders of the same events would never meet;
//   - for each client, what it received and when: bytes, the ends of connections, the results of
//     dials, the ends of its sleeps;
//   - for each connection, what is on its way, what is held back and until when, what waits at the
//     node, and the requests that the node received;
//   - for each node, its data with their expiry times, its clock and rate, its scripts, subscribers
//     and blocked requests, and its saved data while it is down;
//   - the obstacles: cuts, delays, replication, all pending timers, and the faults still due;
//   - and what a judge uses of the past: every fault with its times, the order of commands
//     that changed data on each node, and which operations had returned when another was called.
//
// This leaves out the order of other events of one instant: two replies to two clients, say, or two
// commands at one node that changed nothing.

// state returns the hash of the world's state. ok is false while a connection watches keys, because
// miniredis does not say whether they have changed. Types that a node cannot copy, such as streams,
// are refused (see exact). With 64 bits, two of a million states collide with a probability of 1 in
// 40 million.
func (w *world) state() (h uint64, ok bool) {
	now := w.clock()
	h = mix(hashStart, uint64(w.now()), uint64(w.out.Waited))
	for _, n := range w.nodes {
		h = mix(h, digest(n.Copy(now)), n.condition(w))
	}
	for _, c := range w.clients { // what each has received, and the faults that affect it
		received := mix(hashStart, c.observed, c.observedNow, c.order)
		for _, op := range c.open {
			received = mix(received, uint64(op.Op), c.before(op))
		}
		h = mix(h, mix(received, bits(c.done, c.paused, c.crashed, c.recordClosed, c.blockedMoment != nil), uint64(c.sent),
			uint64(c.momentHolds)<<32|uint64(len(c.waitingForResume))))
	}
	// those of a client to one node are unordered: the runtime decides which of its goroutines got
	// which
	var conns uint64
	for _, cn := range w.conns {
		if cn.watches && !cn.shut {
			return 0, false
		}
		if !cn.ended() {
			conns += cn.condition()
		}
	}
	h = mix(h, conns, w.network(), w.faultLog, uint64(w.budget)<<32|uint64(w.waits))
	for _, t := range w.timers {
		h = mix(h, uint64(t.at.Sub(w.start)))
	}
	return h, true
}

// condition returns a hash of a node, apart from its data.
func (n *node) condition(w *world) uint64 {
	clock := n.Clock()
	h := mix(hashStart, n.changes, uint64(clock.Offset), n.Drawn(), bits(n.down, n.paused))
	if clock.Rate != 1 {
		h = mix(h, uint64(clock.Rate*1e9), uint64(clock.Since.Sub(w.start)))
	}
	if n.down {
		h = mix(h, digest(n.kept.data), digest(n.had.data))
	}
	var scripts uint64
	for sha := range n.Scripts() {
		scripts += mixText(hashStart, sha)
	}
	h = mix(h, scripts)
	for _, set := range n.Subscribers() {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			h = mixText(h, name)
			for _, p := range set[name] {
				h = mix(h, p.(*conn).place())
			}
		}
		h = mix(h, 0)
	}
	return h
}

// digest returns a hash of data and of their expiry times.
func digest(d fakeredis.Data) uint64 {
	h := uint64(hashStart)
	for _, key := range slices.Sorted(maps.Keys(d)) {
		v, size := d[key], 0
		h = mixText(h, key)
		switch value := v.Value.(type) {
		case string:
			h = mixText(mix(h, 1), value)
		case map[string]string:
			h, size = mix(h, 2), len(value)
			for _, f := range slices.Sorted(maps.Keys(value)) {
				h = mixText(mixText(h, f), value[f])
			}
		case []string:
			h, size = mix(h, 3), len(value)
			for _, i := range value {
				h = mixText(h, i)
			}
		case map[string]bool:
			h, size = mix(h, 4), len(value)
			for _, m := range slices.Sorted(maps.Keys(value)) {
				h = mixText(h, m)
			}
		case map[string]float64:
			h, size = mix(h, 5), len(value)
			for _, m := range slices.Sorted(maps.Keys(value)) {
				h = mix(mixText(h, m), math.Float64bits(value[m]))
			}
		}
		h = mix(h, uint64(size), uint64(v.Expires))
	}
	return h
}

// observe records what a client receives now. What it receives at one event is unordered: the
// runtime decides which of its goroutines comes first.
func (c *client) observe(place, what uint64) {
	w := c.world
	if !w.bounds.Instant {
		return
	}
	if c.observedStep != w.step {
		c.observed, c.observedNow, c.observedStep = mix(c.observed, c.observedNow), 0, w.step
	}
	c.observedNow += mix(hashStart, uint64(w.now()), place, what)
}

// before returns a hash of how many operations of each other client had returned when this one was
// called and, if it may end a belief, returned.
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

func (cn *conn) condition() uint64 {
	h := mix(hashStart, cn.place(), cn.history, uint64(cn.server.index),
		bits(cn.shut, cn.lost != nil, cn.waiting, cn.parked != nil), uint64(cn.server.writes-cn.seen))
	for _, t := range []time.Time{cn.readBy, cn.writeBy, cn.sentUntil, cn.givenUntil} {
		h = mix(h, instant(t))
	}
	for _, q := range cn.requests {
		h = mix(h, hashArgs(q.args), bits(q.withheld, q.kept, q.doomed, q.handshake), instant(q.held), q.batch.condition(q))
	}
	h = mix(h, uint64(len(cn.requests)))
	for _, r := range cn.replies {
		h = mix(mixText(h, r.bytes), bits(r.kept, r.lost), instant(r.held))
		if r.request != nil {
			h = mix(h, hashArgs(r.request.args), r.request.batch.condition(r.request))
		}
	}
	if q := cn.parked; q != nil {
		h = mix(h, hashArgs(q.args), uint64(q.parkedAt))
	}
	return mixText(h, cn.arrived)
}

// condition returns a hash of a request's position in a batch, and of the replies so far.
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

// network returns a hash of the obstacles between clients and nodes, and between a primary and its
// replicas.
func (w *world) network() uint64 {
	var h uint64
	for k := range w.cut {
		h += mix(hashStart, uint64(k.client), uint64(k.node))
	}
	h = mix(h, uint64(w.slow.delay), uint64(w.slow.rate*1e3), uint64(w.noSubscribers), bits(w.lastRounds))
	for _, role := range w.roles {
		h = mix(h, uint64(role))
	}
	for _, l := range w.links {
		h = mix(h, bits(l.cut, l.apart), uint64(l.primary.writes-l.applied), uint64(len(l.stream)))
		for _, u := range l.stream {
			h = mix(h, digest(u.data), uint64(l.primary.writes-u.write)<<1|bits(u.whole))
		}
	}
	for _, n := range w.nodes {
		for _, q := range n.waiting {
			h = mix(h, q.conn.place(), uint64(n.writes-q.upTo))
		}
	}
	return h
}

// noteState adds the beginning or the end of a fault to the state's past, with the progress of the
// clients by then.
func (w *world) noteState(what string, client string, node int) {
	if !w.bounds.Instant {
		return
	}
	h := mix(mixText(mixText(w.faultLog, what), client), uint64(node), uint64(w.now()))
	for _, c := range w.clients {
		h = mix(h, uint64(len(c.ops))<<32|uint64(len(c.open)))
	}
	w.faultLog = h
}

// perform runs a command at a connection's node, and records for states the order of commands that
// change data.
func (w *world) perform(cn *conn, args []string) (reply []byte) {
	w.watching(cn, args, func() []byte {
		reply = cn.server.Execute(cn.session, args, w.clock())
		if w.bounds.Instant {
			reply = slices.Clone(reply) // copying the data uses the node
		}
		return reply
	})
	return reply
}

// watching runs a command at a connection's node and records its effect for states. A command that
// the node refuses by name ends the schedule.
func (w *world) watching(cn *conn, args []string, run func() (reply []byte)) {
	n := cn.server
	defer func() {
		if refused := n.Refused(); refused != "" && w.out.Crash == "" {
			w.out.Unexplorable = true
			w.out.Crash = w.program.Variant.Name + " sends " + refused + ", which the simulator does not do as Redis does"
		}
	}()
	if !w.bounds.Instant {
		run()
		return
	}
	what := hashArgs(args)
	cn.history = mixText(mix(cn.history, what), run())
	if n.Unread() {
		n.changes = mix(n.changes, cn.place(), what)
	}
}

// instant returns a time as a number; 0 for none.
func instant(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

func bits(all ...bool) (b uint64) {
	for _, is := range all {
		b = b<<1 | uint64(boolInt(is))
	}
	return b
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
