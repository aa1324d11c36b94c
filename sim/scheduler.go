package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// optionKind is what sort of thing could happen next.
type optionKind uint8

const (
	deliverRequest optionKind = iota // a request reaches its node and is executed
	deliverReply                     // a reply reaches its client
	replicate                        // the replica takes over what the primary has written
	waitForTime                      // nothing arrives for a while
	placeFault                       // a fault
	arranged                         // something that was arranged for an instant
	giveUp                           // nothing: the rest of this schedule is known
)

// option is one thing that could happen next.
type option struct {
	kind  optionKind
	conn  *conn
	fault *placeableFault
	ready int   // the step at which it became possible: the oldest is the default
	rank  int   // among the options of its kind between one client and one node, by content
	held  *Held // what it is in a world outside; nil in the simulator's own
	nth   int   // of the write that is replicated
}

// event is what an option stands for, as tapes name it: by client, node, command, and which of the client's commands of that name to that node it is.
// It says neither when, nor which connection: which of a client's goroutines gets which connection of a pool is the runtime's secret.
type event struct {
	kind    optionKind
	conn    *conn
	request *request // nil for a message to a subscriber
	nth     int      // of such a message, or of a write that is replicated
	fault   *placeableFault
	rank    int
	held    *Held // of a world outside, where events have no names but those of their step
}

// event is the option's, for as long as the schedule is looked at.
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

// name is that of the event in tapes. No two events of a schedule have the same.
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

// message names the request that the event delivers, or answers.
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

// way names the message among those of one step, by client, node and rank.
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

// nth counts the request among those of its name that its client has sent to its node, from 1; of one instant in order of content.
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

// request is the one that is the message, or that it answers; nil for a message to a subscriber.
func (o option) request() *request {
	if o.kind == deliverRequest {
		return o.conn.requests[0]
	}
	return o.conn.replies[0].request
}

// byContent compares what two messages of a kind say. A message to a subscriber comes before answers.
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

// owner is who the option belongs to, for strategies that give priorities: the client's index, or a number beyond all clients.
func (o option) owner() int {
	switch {
	case o.held != nil:
		return o.held.Client
	case o.conn != nil:
		return o.conn.client.index
	}
	return maxClients
}

// options lists what could happen next, in an order that depends on names and contents alone: requests and replies by client and
// node, then replication. Faults and waiting are added by choose.
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

// reachable reports whether the network carries anything between a connection's ends.
func (w *world) reachable(cn *conn) bool {
	return !w.cut[cutKey{cn.client.index, cn.server.index}]
}

// canReach reports whether a request on the connection can be delivered now. A stopped client's requests had left before it stopped.
func (w *world) canReach(cn *conn) bool {
	return cn.lost == nil && !cn.server.paused && !cn.server.down && cn.parked == nil && w.reachable(cn)
}

// canAnswer reports whether a reply on the connection can be delivered now.
func (w *world) canAnswer(cn *conn) bool {
	return cn.lost == nil && !cn.client.paused && w.reachable(cn)
}

// apply lets the chosen thing happen, if it still can: a timer that ended within the last tick may have closed the connection.
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

// takeFirst takes the first of a queue. The others move up: a queue is short, and one that moved on through its storage would need new
// storage for every message.
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

// executeNow runs a request at its node and makes its reply an event, unless a fault is placed on it.
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

// answered makes the reply to a request an event, unless nobody is there to see it or it is lost.
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

// appendContent appends what a request says, for the trace.
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

// free reports whether a request is held back by nothing of its own.
func (q *request) free() bool {
	return !q.kept && !q.held.After(time.Now()) && !(q.withheld && q.conn.client.paused)
}

// deliver returns a reply to its client.
func (w *world) deliver(r *reply) {
	cn := r.conn
	w.noteReply(r, false)
	cn.giveReply(r)
}

func (r *reply) free() bool { return !r.kept && !r.held.After(time.Now()) }

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

// What goroutines do at one instant they do in the runtime's order. Here it gets an order that depends on names and contents alone,
// before it is numbered, traced, or struck by a fault.

// settleInstant deals with everything that has come up since the last event. What it lets goroutines do may bring up more at the same instant.
func (w *world) settleInstant() {
	for w.runTimers() || w.passMoments() || w.answerHandshakes() || w.admitRequests() {
	}
}

// runGoroutines lets goroutines run until all are blocked.
func (w *world) runGoroutines() {
	w.mu.Unlock()
	synctest.Wait()
	w.mu.Lock()
}

// runTimers does what was arranged for now or before, one after the other.
func (w *world) runTimers() (did bool) {
	for ; len(w.timers) > 0 && !w.timers[0].at.After(time.Now()); did = true {
		t := w.timers[0]
		w.timers = w.timers[1:]
		t.do()
		w.runGoroutines()
	}
	return did
}

// halt is a moment that a client has reached.
type reachedMoment struct {
	moment history.Moment
	pass   chan struct{} // closed when the client may go on; nil when nothing is placed at the moment
}

// atMoment tells the driver of a moment, and waits for it when a fault may strike there. It is called by the client's goroutine.
func (w *world) atMoment(c *client, m history.Moment) {
	if pass := w.reachMoment(c, m); pass != nil {
		<-pass
	}
}

// reachMoment puts a moment before the driver, and gives what to wait for; nil when nothing is placed there.
func (w *world) reachMoment(c *client, m history.Moment) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.director.Plan().Reach(c.index+1, m)
	if m == history.Entered && !c.recordClosed {
		w.director.Entered(c.index + 1)
	}
	watched := w.watches(c, m)
	if c.recordClosed || !watched && !w.trace.keep {
		return nil
	}
	h := &reachedMoment{moment: m}
	c.moments = append(c.moments, h)
	if watched {
		h.pass = make(chan struct{})
		w.wakeDriver()
	}
	return h.pass
}

// passMoments strikes what is placed at the moments that clients have reached, client by client, and lets them go on.
func (w *world) passMoments() (did bool) {
	for _, c := range w.clients {
		for len(c.moments) > 0 {
			h := c.moments[0]
			c.moments = c.moments[1:]
			w.noteMoment(c, h.moment)
			if h.pass == nil {
				continue
			}
			if w.moment(c, h.moment); c.momentHolds > 0 {
				c.blockedMoment = h.pass
			} else {
				close(h.pass)
			}
			w.runGoroutines()
			did = true
		}
	}
	return did
}

// admitRequests takes note of the requests that were sent, in order of client, node and content, and strikes what is placed before they leave.
func (w *world) admitRequests() (did bool) {
	fresh := w.fresh
	w.fresh = nil
	slices.SortStableFunc(fresh, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.conn.client.index, b.conn.client.index), cmp.Compare(a.conn.node, b.conn.node), slices.Compare(a.args, b.args))
	})
	if w.program.Variant.Traits.Multiplexes {
		for _, cn := range w.conns {
			cn.batchRequests(slices.DeleteFunc(slices.Clone(fresh), func(q *request) bool { return q.conn != cn }))
		}
	}
	for _, q := range fresh {
		q.conn.takeAlias(q)
		w.countBurst(q.conn.client)
		if w.sent++; w.program.Enough > 0 && w.sent >= w.program.Enough && !w.underFault() {
			w.lastRound()
		}
		did = w.onSend(q) || did
	}
	if did {
		w.runGoroutines()
	}
	return did
}

// answerHandshakes lets handshakes go on that had to wait.
func (w *world) answerHandshakes() (did bool) {
	for _, cn := range w.conns {
		if cn.answerHandshakes() {
			w.runGoroutines()
			return true
		}
	}
	return false
}

// answerHandshakes answers the handshakes of a connection that have their turn; did when the client was given something.
func (cn *conn) answerHandshakes() (did bool) {
	w := cn.world
	for len(cn.requests) > 0 && cn.requests[0].handshake && w.canReach(cn) {
		q := takeFirst(&cn.requests)
		answer := w.perform(cn, q.args)
		cn.seen = w.replication.writes
		if len(cn.replies) == 0 && q.batch == nil && w.canAnswer(cn) {
			cn.client.observe(cn.place(), mixText(hashArgs(q.args), answer))
			cn.arrive(answer)
			did = true
			continue
		}
		cn.replies = append(cn.replies, &reply{conn: cn, request: q, bytes: slices.Clone(answer)})
	}
	for len(cn.replies) > 0 && cn.replies[0].ofHandshake() && w.canAnswer(cn) {
		cn.giveReply(takeFirst(&cn.replies))
		did = true
	}
	return did
}

// quiet reports whether a reply is that of a handshake.
func (r *reply) ofHandshake() bool { return r.request != nil && r.request.handshake }

// traceOps puts what clients have recorded since the last event into the trace and numbers it, client by client and, of one client, by time
// and content.
func (w *world) traceOps() {
	for _, c := range w.clients {
		slices.SortStableFunc(c.ops[c.traced:], func(x, y history.Operation) int {
			return cmp.Or(cmp.Compare(x.Return, y.Return), cmp.Compare(y.Call, x.Call), cmp.Compare(x.Op, y.Op), strings.Compare(x.Key, y.Key),
				cmp.Compare(x.Outcome, y.Outcome), strings.Compare(x.Token, y.Token))
		})
		for ; c.traced < len(c.ops); c.traced++ {
			c.ops[c.traced].ID = uint64(c.index)*clientIDs + uint64(c.traced) + 1
			w.trace.op(c.ops[c.traced])
		}
	}
}

// clientIDs is the distance between the first operation numbers of two clients.
const clientIDs = 1 << 40

// inTurn does something to connections, one after the other, and lets goroutines run in between: those of one client would else come in any order.
func (w *world) inTurn(conns []*conn, do func(*conn)) {
	slices.SortStableFunc(conns, func(a, b *conn) int {
		return cmp.Or(cmp.Compare(a.client.index, b.client.index), cmp.Compare(a.node, b.node), cmp.Compare(a.last, b.last))
	})
	for _, cn := range conns {
		w.after(0, func() { do(cn) })
	}
	w.wakeDriver()
}

// latest is the most nanoseconds that a time-out of a connection comes late. A context that ends at the same instant always comes before
// it, and no two connections of a client give up at once.
const latest = 50 * time.Microsecond

// lateness is how late a time-out of a client's connection to a node is, on which a request was sent last.
func lateness(client, node int, last uint64) time.Duration {
	return 1 + time.Duration(mix(mix(mix(hashStart, uint64(client)), uint64(node)), last)%uint64(latest))
}

// hashArgs is a hash of a request.
func hashArgs(args []string) uint64 {
	h := uint64(hashStart)
	for _, a := range args {
		h = mixText(h, a)
	}
	return h
}
