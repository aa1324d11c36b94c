package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// blocking lists the commands that wait for data, with the index of their time-out argument; a negative index counts from the end.
var blocking = map[string]int{"BLPOP": -1, "BRPOP": -1, "BLMOVE": -1, "BRPOPLPUSH": -1, "BZPOPMIN": -1, "BZPOPMAX": -1, "BLMPOP": 1}

// timeout returns the time-out of a blocking command, or an error text.
func timeout(args []string) (d time.Duration, text string) {
	at := blocking[args[0]]
	if at < 0 {
		at += len(args)
	}
	seconds, ok := decimal(args[at])
	switch {
	case !ok, strings.ContainsAny(args[at], " \t\r\n"), math.IsNaN(seconds), seconds > math.MaxInt64/1000: // Redis counts milliseconds
		return 0, "ERR timeout is not a float or out of range"
	case seconds < 0:
		return 0, "ERR timeout is negative"
	}
	return time.Duration(min(seconds, math.MaxInt64/float64(time.Second)-1) * float64(time.Second)), ""
}

// take executes a blocking command if there is data; ok is false if there is none.
func (n *node) take(s *session, args []string) (reply []byte, ok bool) {
	switch name := args[0]; name {
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX":
		for _, key := range args[1 : len(args)-1] {
			if reply, ok := n.popFrom(s, name[1:], key); ok {
				return reply, true
			}
		}
		return null(s, "*-1"), false
	case "BLMOVE":
		reply = n.alone([]string{"LMOVE", args[1], args[2], args[3], args[4]})
	case "BRPOPLPUSH":
		reply = n.alone([]string{"RPOPLPUSH", args[1], args[2]})
	case "BLMPOP":
		reply = n.alone(append([]string{"LMPOP"}, args[2:]...))
	}
	if r, _ := resp.ParseReply(reply); !r.IsNil() {
		return reply, true
	}
	return null(s, "*-1"), false
}

// null returns the null reply, which in RESP2 has a type.
func null(s *session, resp2 string) []byte {
	if s.peer.Resp3 {
		return []byte("_\r\n")
	}
	return []byte(resp2 + "\r\n")
}

// popFrom pops from one key, and returns the key with the value.
func (n *node) popFrom(s *session, name, key string) ([]byte, bool) {
	b := n.alone([]string{name, key})
	r, ok := resp.ParseReply(b)
	switch {
	case !ok || r.IsNil():
		return nil, false
	case r.IsError():
		return b, true
	case name == "LPOP" || name == "RPOP":
		return pushed(false, []string{key, string(r.Str())}), true
	}
	popped := slices.Collect(r.Items()) // a member and its score
	if len(popped) == 0 {
		return nil, false
	}
	member, score := string(popped[0].Str()), string(popped[1].Str())
	if s.peer.Resp3 {
		return []byte("*3\r\n" + bulk(key) + bulk(member) + "," + score + "\r\n"), true
	}
	return pushed(false, []string{key, member, score}), true
}

func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }

// atOnce runs a blocking command that must not wait, in a transaction or a script.
func (n *node) atOnce(s *session, name string, args []string) {
	args = upper(name, args)
	if _, text := timeout(args); text != "" {
		s.peer.WriteError(text)
		return
	}
	b, there := n.take(s, args)
	if !there && (name == "BLMOVE" || name == "BRPOPLPUSH") {
		b = null(s, "$-1")
	}
	s.peer.WriteRaw(string(b))
}

// blockingPop runs a command that waits for data. It takes what is there at once; while it waits, it ignores a key that gets another type.
func (w *world) blockingPop(q *request) ([]byte, bool) {
	n, args := q.conn.server, upper(q.name, q.args)
	text := cmp.Or(n.refusal(q.name, args, toConn), n.misplaced(args))
	if text != "" {
		return failure(text), true
	}
	d, text := timeout(args)
	if text != "" {
		return failure(text), true
	}
	return w.park(q, d, func(force bool) ([]byte, bool) {
		n.tick(w.clock())
		reply, ok := w.takes(q, args)
		if r, _ := resp.ParseReply(reply); ok && r.IsError() && q.conn.parked == q {
			return null(q.conn.session, "*-1"), force
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
