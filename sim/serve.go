package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// execute runs a request at its node. answered is false when the server will answer later, or the request is not one that
// is answered now.
func (w *world) execute(q *request) (reply []byte, answered bool) {
	n := q.link.server
	if _, blocks := blocking[q.name]; (blocks || q.name == "WAIT") && q.link.session.tx == nil {
		serve := w.blockingPop
		if q.name == "WAIT" {
			serve = w.wait
		}
		if reply, answered = serve(q); answered {
			w.ran(q)
			if blocks {
				w.changed(q)
			}
		}
		return reply, answered
	}
	before := w.beforeRenewal(q)
	reply = w.perform(q.link, q.args)
	switch q.name {
	case "WATCH":
		q.link.watches = true
	case "UNWATCH", "EXEC", "DISCARD":
		q.link.watches = false
	}
	w.ran(q)
	if before != nil { // the copy uses the node's reply
		reply = slices.Clone(reply)
	}
	if before != nil && n.copy(time.Now()).outlasts(*before) {
		w.renewed = append(w.renewed, q.link.actor.commands[q.command])
	}
	if resp.IsWrite(q.name) || q.name == "EXEC" {
		reply = append([]byte(nil), reply...)
		w.changed(q)
	}
	if n.refused != "" && w.crash == "" {
		w.unexplorable = true
		w.crash = w.program.Variant.Name + " sends " + n.refused + ", which the simulator does not do as Redis does"
	}
	return reply, true
}

// changed tells the replica and who waits that a request may have changed data.
func (w *world) changed(q *request) {
	w.written(q.link.server)
	w.retryParked(q.link.server)
}

// ran records when and after how many others a node executed a command.
func (w *world) ran(q *request) {
	if q.quiet {
		return
	}
	n := q.link.server
	n.turn++
	c := &q.link.actor.commands[q.command]
	c.Turn, c.Ran = n.turn, w.timeline()
}

// written keeps what replication will need of a node's data after a write.
func (w *world) written(n *node) {
	if w.program.Topology == impls.Replicated && n.index == w.primary {
		w.pair.push(n.copy(time.Now()), w.step)
	}
}

// saved is what is left of a node's data when its process is killed now: with persistence everything, because Redis has given it to the
// operating system, which lives on, before it answers. What everysec risks is lost when the machine fails.
func (w *world) saved(n *node) dataset {
	if w.program.Persistence == impls.PersistNone || w.program.Persistence == "" {
		return dataset{}
	}
	return n.copy(time.Now())
}

// replication is the stream from the primary to the replica: the state after each write that the replica has not got.
type replication struct {
	stream  []dataset
	ready   int
	written int    // writes of the primary so far
	applied int    // of these, how many the replica has
	turn    uint64 // the last command of which the replica has the effect
	stopped bool
	cut     bool // a failover is under way: nothing reaches the replica any more
}

func (r *replication) push(d dataset, step int) {
	if len(r.stream) == 0 {
		r.ready = step
	}
	r.stream = append(r.stream, d)
	r.written++
}

func (r *replication) pending() bool { return len(r.stream) > 0 && !r.stopped && !r.cut }

// replicateOne returns the replica the oldest write it has not got.
func (w *world) replicateOne() {
	d := w.pair.stream[0]
	w.pair.stream = w.pair.stream[1:]
	w.pair.applied++
	w.pair.turn = d.turn
	w.pair.ready = w.step
	w.nodes[1-w.primary].load(d, time.Now())
	w.retryParked(w.nodes[w.primary])
}

// replicas is how many replicas of a node have everything up to the given write.
func (w *world) replicas(n *node, upTo int) int {
	if w.program.Topology != impls.Replicated || n.index != w.primary || w.pair.stopped {
		return 0
	}
	return boolInt(w.pair.applied >= upTo)
}

// wait is WAIT numreplicas timeout.
func (w *world) wait(q *request) ([]byte, bool) {
	if len(q.args) != 3 {
		return []byte("-ERR wrong number of arguments for 'wait' command\r\n"), true
	}
	want, _ := strconv.Atoi(q.args[1])
	millis, _ := strconv.Atoi(q.args[2])
	q.upTo = w.pair.written
	answer := func(force bool) ([]byte, bool) {
		got := w.replicas(q.link.server, q.upTo)
		return []byte(":" + strconv.Itoa(got) + "\r\n"), force || got >= want
	}
	return w.park(q, time.Duration(millis)*time.Millisecond, answer)
}

// blockingPop is a command that waits for data. What is there at once it takes; of one that waits, a key that comes to have another type is none.
func (w *world) blockingPop(q *request) ([]byte, bool) {
	n, args := q.link.server, upper(q.name, q.args)
	if text := n.misplaced(args); text != "" {
		return []byte("-" + text + "\r\n"), true
	}
	d, text := timeout(args)
	if text != "" {
		return []byte("-" + text + "\r\n"), true
	}
	return w.park(q, d, func(force bool) ([]byte, bool) {
		n.tick(time.Now())
		reply, ok := w.takes(q, args)
		if r, _ := resp.ParseReply(reply); ok && r.IsError() && q.link.parked == q {
			return null(q.link.session, "*-1"), force
		}
		return reply, ok || force
	})
}

// park keeps a request at the server until it can be answered, or until d is over; d 0 means for ever.
func (w *world) park(q *request, d time.Duration, answer func(force bool) ([]byte, bool)) ([]byte, bool) {
	if b, ok := answer(false); ok {
		return b, true
	}
	q.answer, q.parkedAt = answer, w.timeline()
	q.link.parked = q
	n := q.link.server
	n.waiting = append(slices.DeleteFunc(n.waiting, gone), q)
	if d > 0 {
		w.after(d, func() {
			if q.link.parked == q {
				w.unpark(q, true)
			}
		})
	}
	return nil, false
}

// unpark answers a parked request if it can be answered.
func (w *world) unpark(q *request, force bool) {
	b, ok := q.answer(force)
	if !ok {
		return
	}
	q.link.parked = nil
	w.ran(q)
	if q.name != "WAIT" {
		w.written(q.link.server)
	}
	w.answered(q, b)
}

// retryParked looks again at what waits at a node, at what has waited longest first.
func (w *world) retryParked(n *node) {
	for left := len(n.waiting) + 1; len(n.waiting) < left; { // what one is given another may have waited for
		for _, q := range slices.Clone(n.waiting) {
			if !gone(q) {
				w.unpark(q, false)
			}
		}
		left = len(n.waiting)
		n.waiting = slices.DeleteFunc(n.waiting, gone)
	}
}

// gone reports whether a request waits no more: it was answered, or its connection has ended.
func gone(q *request) bool { return q.link.parked != q }
