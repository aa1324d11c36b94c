package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// options lists what could happen next, in an order that depends only on names and contents: requests and replies by client and node, then
// replication. choose adds faults and waiting.
func (w *world) options() []option {
	out := w.possible[:0]
	from := 0
	for i, cn := range w.conns {
		if i > 0 && (cn.client != w.conns[i-1].client || cn.node != w.conns[i-1].node) {
			inOrder(out[from:])
			from = len(out)
		}
		if len(cn.requests) > 0 && w.canReach(cn) && cn.requests[0].free() {
			out = append(out, option{kind: deliverRequest, conn: cn, ready: cn.requests[0].ready})
		}
		if len(cn.replies) > 0 && w.canAnswer(cn) && cn.replies[0].free() {
			out = append(out, option{kind: deliverReply, conn: cn, ready: cn.replies[0].ready})
		}
	}
	inOrder(out[from:])
	if w.replicates() {
		out = append(out, option{kind: replicate, ready: w.replication.ready, nth: w.replication.taken + 1})
	}
	w.possible = out
	return out
}

// reachable reports whether the network connects the two ends of a connection.
func (w *world) reachable(cn *conn) bool {
	return !w.cut[cutKey{cn.client.index, cn.server.index}]
}

// canReach reports whether a request on the connection can be delivered now. Requests of a stopped client left before it stopped.
func (w *world) canReach(cn *conn) bool {
	return cn.lost == nil && !cn.server.paused && !cn.server.down && cn.parked == nil && w.reachable(cn)
}

// canAnswer reports whether a reply on the connection can be delivered now.
func (w *world) canAnswer(cn *conn) bool {
	return cn.lost == nil && !cn.client.paused && w.reachable(cn)
}

// apply performs the chosen option, if it still can: a timer that fired within the last tick may have closed the connection.
func (w *world) apply(o option) {
	w.step++
	switch o.kind {
	case deliverRequest:
		if len(o.conn.requests) == 0 {
			return
		}
		q := takeFirst(&o.conn.requests)
		w.content = q.appendContent(w.content[:0])
		w.event(o.kind, o.conn, w.content, func() string { return "-> " + q.String() })
		w.executeNow(q)
	case deliverReply:
		if len(o.conn.replies) == 0 {
			return
		}
		r := takeFirst(&o.conn.replies)
		w.event(o.kind, o.conn, r.bytes, func() string { return "<- " + r.String() })
		w.deliver(r)
	case replicate:
		if !w.replicates() {
			return
		}
		w.event(o.kind, nil, nil, func() string { return "the replica takes over a write" })
		w.note(faults.Step{Kind: faults.StepReplicate})
		w.replicateOne()
	case placeFault:
		name := o.fault.name(event.way)
		w.event(o.kind, nil, []byte(name), func() string { return "!! " + name })
		o.fault.place()
	}
}

// affectsNodeOnly reports whether an option is a request that wakes no goroutine, and none wakes by itself before it: no fault strikes at the request
// or at a reply, no sleep ends, no reader gives up, and no client waits by a timer of its own.
func (w *world) affectsNodeOnly(o option) bool {
	return o.kind == deliverRequest && !w.bounds.Instant && !o.request().doomed && w.noSubscribers == 0 &&
		(w.expiry.IsZero() || w.expiry.After(w.clock().Add(tick))) && !w.director.Plan().WatchesMessages(0, faults.Answered, faults.Returning) &&
		!slices.ContainsFunc(w.clients, (*client).mayHaveTimer)
}

// mayHaveTimer reports whether a client may wait by a timer that the driver does not know: it neither sleeps by its clock nor waits for a reply.
func (c *client) mayHaveTimer() bool {
	return !c.done && !c.paused && c.asleep == 0 &&
		!slices.ContainsFunc(c.world.conns, func(cn *conn) bool { return cn.client == c && cn.inUse > 0 && !cn.shut })
}

// takeFirst removes the first item of a queue and moves the others up: queues are short, and reslicing would allocate for every message.
func takeFirst[T any](queue *[]T) T {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

func (w *world) event(kind optionKind, cn *conn, content []byte, what func() string) {
	number := uint64(0)
	if cn != nil {
		number = cn.number >> 16
	}
	w.trace.event(w.now(), kind, number, content, what)
}

// executeNow runs a request at its node and makes its reply an event, unless a fault affects it.
func (w *world) executeNow(q *request) {
	if q.doomed {
		w.lose(q)
		return
	}
	if w.refusesSubscriber(q) {
		return
	}
	w.noteRequest(q, false)
	bytes, ok := w.execute(q)
	q.conn.seen = w.replication.writes
	if ok {
		w.answered(q, bytes)
	}
}

// answered makes the reply to a request an event, unless its connection is gone or the reply is lost.
func (w *world) answered(q *request, bytes []byte) {
	cn := q.conn
	if cn.shut || cn.lost != nil || cn.client.crashed {
		return
	}
	r := &reply{conn: cn, request: q, bytes: append([]byte(nil), bytes...)}
	if !w.onReply(r) {
		w.enqueueReply(r)
	}
}

// free reports whether nothing holds the request back.
func (q *request) free() bool {
	return !q.kept && q.conn.world.arrivesBy(q.held) && !(q.withheld && q.conn.client.paused)
}

// deliver delivers a reply to its client.
func (w *world) deliver(r *reply) {
	cn := r.conn
	w.noteReply(r, false)
	cn.giveReply(r)
}

func (r *reply) free() bool { return !r.kept && r.conn.world.arrivesBy(r.held) }

// arrivesBy reports whether a message that is held until an instant, if any, may arrive.
func (w *world) arrivesBy(held time.Time) bool { return held.IsZero() || !held.After(w.clock()) }

// optionKind is the kind of an option.
type optionKind uint8

const (
	deliverRequest optionKind = iota // a request reaches its node and is executed
	deliverReply                     // a reply reaches its client
	replicate                        // the replica applies what the primary has written
	waitForTime                      // time passes without an arrival
	placeFault                       // a fault
	arranged                         // a timer of the driver is due
	giveUp                           // none: the rest of this schedule is known
)

// option is one thing that could happen next.
type option struct {
	kind  optionKind
	conn  *conn
	fault *placeableFault
	ready int   // the step at which it became possible; the default is the oldest
	rank  int   // among the options of its kind between one client and one node, by content
	held  *Held // its message in a world outside; nil in the simulator
	nth   int   // number of the write that is replicated
}

// event identifies an option as tapes name it: by client, node, command, and the number of that command among the client's to that node. It
// includes neither the time nor the connection: the runtime decides which of a client's goroutines gets which connection of a pool.
type event struct {
	kind    optionKind
	conn    *conn
	request *request // nil for a message to a subscriber
	nth     int      // number of such a message, or of a replicated write
	fault   *placeableFault
	rank    int
	held    *Held // in a world outside, where an event is named only by its step
}

// event returns the option's event, valid until the next step.
func (o option) event() event {
	e := event{kind: o.kind, conn: o.conn, fault: o.fault, nth: o.nth, rank: o.rank, held: o.held}
	if o.conn == nil {
		return e
	}
	if e.request = o.request(); e.request == nil {
		e.nth = o.conn.replies[0].nth
	}
	return e
}

// name returns the event's name in tapes, unique within a schedule.
func (e event) name() string {
	switch e.kind {
	case deliverRequest:
		return "request " + e.message()
	case deliverReply:
		return "reply " + e.message()
	case replicate:
		return "replicate#" + strconv.Itoa(e.nth)
	case waitForTime:
		return "wait"
	}
	return e.fault.name(event.message)
}

// message names the request that the event delivers or answers.
func (e event) message() string {
	if e.held != nil {
		return e.way()
	}
	name, nth := "message", e.nth
	if e.request != nil {
		name, nth = e.request.name, e.request.nth()
	}
	return e.conn.String() + " " + name + "#" + strconv.Itoa(nth)
}

// way identifies the message among those of one step, by client, node and rank.
func (e event) way() string {
	where := fmt.Stringer(e.conn)
	if e.held != nil {
		where = e.held
	}
	if e.rank == 0 {
		return where.String()
	}
	return fmt.Sprintf("%s#%d", where, e.rank+1)
}

// nth returns the request's number, from 1, among its client's requests of that name to that node; those of one instant are ordered by content.
func (q *request) nth() int {
	all, n := q.conn.client.commands, 1
	own := all[q.command]
	for i, c := range all {
		if i != q.command && c.Name == own.Name && c.Node == own.Node &&
			cmp.Or(cmp.Compare(c.Sent, own.Sent), slices.Compare(c.Args, own.Args), cmp.Compare(i, q.command)) < 0 {
			n++
		}
	}
	return n
}

// request returns the request that is delivered or answered; nil for a message to a subscriber.
func (o option) request() *request {
	if o.kind == deliverRequest {
		return o.conn.requests[0]
	}
	return o.conn.replies[0].request
}

// byContent compares the contents of two messages of a kind. Messages to subscribers come before replies.
func byContent(a, b option) int {
	q, r := a.request(), b.request()
	switch {
	case q != nil && r != nil:
		return slices.Compare(q.args, r.args)
	case q == nil && r == nil:
		return bytes.Compare(a.conn.replies[0].bytes, b.conn.replies[0].bytes)
	case q == nil:
		return -1
	}
	return 1
}

// inOrder orders the messages between one client and one node by kind and content, and ranks them.
func inOrder(messages []option) {
	if len(messages) < 2 {
		return
	}
	slices.SortStableFunc(messages, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), byContent(a, b), cmp.Compare(a.ready, b.ready))
	})
	for i := 1; i < len(messages); i++ {
		if messages[i].kind == messages[i-1].kind {
			messages[i].rank = messages[i-1].rank + 1
		}
	}
}

// owner returns the owner of the option, for strategies with priorities: the client's index, or a number beyond all clients.
func (o option) owner() int {
	switch {
	case o.held != nil:
		return o.held.Client
	case o.conn != nil:
		return o.conn.client.index
	}
	return maxClients
}

// appendContent appends the content of a request, for the trace.
func (q *request) appendContent(to []byte) []byte {
	to = append(to, q.name...)
	for i, arg := range q.args[1:] {
		if i > 0 {
			to = append(to, 0)
		}
		to = append(to, arg...)
	}
	return to
}

// String describes a request in a trace.
func (q *request) String() string {
	c := commandOf(q)
	return fmt.Sprintf("%s %s %v", q.conn, c.Name, c.Args)
}

// String describes a reply in a trace.
func (r *reply) String() string {
	if r.request == nil {
		return fmt.Sprintf("%s message %s", r.conn, replyText(r.bytes))
	}
	return fmt.Sprintf("%s %s: %s", r.conn, r.request.name, replyText(r.bytes))
}
