package sim

import (
	"strconv"

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

// changed informs the replica and blocked requests that a request may have changed data.
func (w *world) changed(q *request) {
	w.written(q.conn.server)
	w.retryParked(q.conn.server)
}

// blockingPop runs a command that waits for data. It takes what is there at once; while it waits,
// it ignores a key that gets another type.
func (w *world) blockingPop(q *request) ([]byte, bool) {
	d, _, refusal := q.conn.server.Waits(q.args)
	if refusal != nil {
		return refusal, true
	}
	return w.park(q, d, func(force bool) ([]byte, bool) {
		var reply []byte
		var ok bool
		w.watching(q.conn, q.args, func() []byte {
			reply, ok = q.conn.server.Take(q.conn.session, q.args, w.clock())
			return reply
		})
		if r, _ := resp.ParseReply(reply); ok && r.IsError() && q.conn.parked == q {
			return q.conn.session.Null(), force
		}
		return reply, ok || force
	})
}

// wait implements WAIT numreplicas timeout for all writes up to the last command of the same
// connection, whichever client made them.
func (w *world) wait(q *request) ([]byte, bool) {
	most, want, refusal := q.conn.server.Waits(q.args)
	if refusal != nil {
		return refusal, true
	}
	q.upTo = q.conn.seen
	answer := func(force bool) ([]byte, bool) {
		got := w.replicas(q.conn.server, q.upTo)
		return []byte(":" + strconv.Itoa(got) + "\r\n"), force || got >= want
	}
	return w.park(q, most, answer)
}
