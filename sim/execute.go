package sim

import (
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/internal/resp"
)

// execute runs a request at its node. answered is false if the node replies later, or if the
// request gets no reply of its own now.
func (w *world) execute(q *request) (reply []byte, answered bool) {
	if blocks := fakeredis.Blocks(q.name); (blocks || q.name == "WAIT") && !q.conn.session.InTransaction() {
		serve := w.blockingPop
		if q.name == "WAIT" {
			serve = w.wait
		}
		if reply, answered = serve(q); answered {
			w.ran(q, reply)
			if blocks {
				w.changed(q)
			}
		}
		return reply, answered
	}
	reply = w.perform(q.conn, q.args)
	switch q.name {
	case "WATCH":
		q.conn.watches = true
	case "UNWATCH", "EXEC", "DISCARD":
		q.conn.watches = false
	}
	w.ran(q, reply)
	if resp.IsWrite(q.name) || q.name == "EXEC" {
		reply = append([]byte(nil), reply...)
		w.changed(q)
	}
	return reply, true
}

// endRefused ends the schedule if a node was sent a command that it refused by name.
func (w *world) endRefused(n *node) {
	if refused := n.Refused(); refused != "" && w.out.Crash == "" {
		w.out.Unexplorable = true
		w.out.Crash = w.program.Variant.Name + " sends " + refused + ", which the simulator does not do as Redis does"
	}
}

// changed informs the replica and blocked requests that a request may have changed data.
func (w *world) changed(q *request) {
	w.written(q.conn.server)
	w.retryParked(q.conn.server)
}

// ran records when a node executed a command, its position, and what it changed.
func (w *world) ran(q *request, reply []byte) {
	if !q.handshake {
		n := q.conn.server
		n.turn++
		c := &q.conn.client.commands[q.command]
		c.Turn, c.Ran = n.turn, w.timeline()
	}
	w.executed(q, reply)
}
