package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/resp"
)

// execute runs a request at its node and makes its reply an event, unless a fault affects it or the
// node replies later.
func (w *world) execute(q *request) {
	if q.doomed || w.noSubscribers > 0 && faults.Subscribes(q.name) {
		w.lose(q)
		return
	}
	w.noteRequest(q, false)
	var reply []byte
	var changes bool // it may have changed data
	answered, blocks := true, fakeredis.Blocks(q.name)
	switch inTransaction := q.conn.session.InTransaction(); {
	case blocks && !inTransaction:
		reply, answered = w.blockingPop(q)
		changes = answered
	case q.name == "WAIT" && !inTransaction:
		// for all writes up to the last command of the same connection, whichever client made them
		most, want, refusal := q.conn.server.Waits(q.args)
		if reply = refusal; refusal == nil {
			q.upTo = q.conn.seen
			reply, answered = w.park(q, most, func(force bool) ([]byte, bool) {
				got := w.replicas(q.conn.server, q.upTo)
				return []byte(":" + strconv.Itoa(got) + "\r\n"), force || got >= want
			})
		}
	default:
		reply = w.perform(q.conn, q.args)
		switch q.name {
		case "WATCH":
			q.conn.watches = true
		case "UNWATCH", "EXEC", "DISCARD":
			q.conn.watches = false
		}
		changes = resp.IsWrite(q.name) || q.name == "EXEC"
	}
	if answered {
		w.ran(q, reply)
	}
	if changes { // the replica and blocked requests learn of it
		reply = slices.Clone(reply)
		w.written(q.conn.server)
		w.retryParked(q.conn.server)
	}
	q.conn.seen = q.conn.server.writes
	if answered {
		w.answered(q, reply)
	}
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

// park keeps a request at the server until it can be answered, or until d is over; d 0 means for
// ever.
func (w *world) park(q *request, d time.Duration, answer func(force bool) ([]byte, bool)) ([]byte, bool) {
	if b, ok := answer(false); ok {
		return b, true
	}
	q.answer, q.parkedAt = answer, w.timeline()
	q.conn.parked = q
	n := q.conn.server
	n.waiting = append(slices.DeleteFunc(n.waiting, gone), q)
	if d > 0 {
		w.after(d, func() {
			if q.conn.parked == q {
				w.unpark(q, true)
			}
		})
	}
	return nil, false
}

func (w *world) unpark(q *request, force bool) {
	b, ok := q.answer(force)
	if !ok {
		return
	}
	q.conn.parked = nil
	w.ran(q, b)
	if q.name != "WAIT" {
		w.written(q.conn.server)
	}
	w.answered(q, b)
}

// retryParked retries the requests that wait at a node, the longest waiting first.
func (w *world) retryParked(n *node) {
	for left := len(n.waiting) + 1; len(n.waiting) < left; { // one reply may provide what another request waits for
		for _, q := range slices.Clone(n.waiting) {
			if !gone(q) {
				w.unpark(q, false)
			}
		}
		left = len(n.waiting)
		n.waiting = slices.DeleteFunc(n.waiting, gone)
	}
}

// gone reports whether a request waits no longer: it was answered, or its connection has ended.
func gone(q *request) bool { return q.conn.parked != q }
