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
	switch q.name {
	case "WAIT", "BLPOP", "BRPOP":
		serve := w.blockingPop
		if q.name == "WAIT" {
			serve = w.wait
		}
		if reply, answered = serve(q); answered {
			w.ran(q)
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
	if resp.IsWrite(q.name) {
		w.written(n)
		reply = append([]byte(nil), reply...)
		w.retryParked(n)
	}
	return reply, true
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

// replicateOne gives the replica the oldest write it has not got.
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

// blockingPop is BLPOP or BRPOP key … timeout.
func (w *world) blockingPop(q *request) ([]byte, bool) {
	if len(q.args) < 3 {
		return []byte("-ERR wrong number of arguments for '" + q.name + "' command\r\n"), true
	}
	if text := q.link.server.misplaced(q.args); text != "" {
		return []byte("-" + text + "\r\n"), true
	}
	keys := q.args[1 : len(q.args)-1]
	seconds, err := strconv.ParseFloat(q.args[len(q.args)-1], 64)
	if err != nil {
		return []byte("-ERR timeout is not a float or out of range\r\n"), true
	}
	answer := func(force bool) ([]byte, bool) {
		for _, key := range keys {
			b := w.perform(q.link, []string{q.name[1:], key})
			if r, ok := resp.ParseReply(b); ok && !r.IsNil() {
				if r.IsError() {
					return append([]byte(nil), b...), true
				}
				return pushed(false, []string{key, string(r.Str())}), true
			}
		}
		return []byte("*-1\r\n"), force
	}
	return w.park(q, time.Duration(seconds*float64(time.Second)), answer)
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
	w.answered(q, b)
}

// retryParked looks again at what waits at a node, at what has waited longest first.
func (w *world) retryParked(n *node) {
	for _, q := range slices.Clone(n.waiting) {
		if !gone(q) {
			w.unpark(q, false)
		}
	}
	n.waiting = slices.DeleteFunc(n.waiting, gone)
}

// gone reports whether a request waits no more: it was answered, or its connection has ended.
func gone(q *request) bool { return q.link.parked != q }
