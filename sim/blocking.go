package sim

import (
	"slices"
	"time"
)

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
