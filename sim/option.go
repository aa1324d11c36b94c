package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// optionKind is what sort of thing could happen next.
type optionKind uint8

const (
	deliverRequest optionKind = iota // a request reaches its node and is executed
	deliverReply                     // a reply reaches its client
	replicate                        // the replica takes over what the primary has written
	waitForTime                      // nothing arrives for a while
	strike                           // a fault
	arranged                         // something that was arranged for an instant
	giveUp                           // nothing: the rest of this schedule is known
)

// option is one thing that could happen next.
type option struct {
	kind  optionKind
	link  *link
	fault *possible
	ready int // the step at which it became possible: the oldest is the default
	rank  int // among the options of its kind between one client and one node, by content
}

// name identifies the option among those of one step, in tapes.
func (o option) name() string {
	switch o.kind {
	case deliverRequest:
		return "request " + o.where()
	case deliverReply:
		return "reply " + o.where()
	case replicate:
		return "replicate"
	case waitForTime:
		return "wait"
	}
	return o.fault.name()
}

// where names the way of a message: client, node and, when there are several of its kind, which. It does not name the connection: which of
// a client's goroutines gets which connection of a pool is the runtime's secret.
func (o option) where() string {
	if o.rank == 0 {
		return o.link.String()
	}
	return fmt.Sprintf("%s#%d", o.link, o.rank+1)
}

// request is the one that is the message, or that it answers; nil for a message to a subscriber.
func (o option) request() *request {
	if o.kind == deliverRequest {
		return o.link.requests[0]
	}
	return o.link.replies[0].request
}

// byContent compares what two messages of a kind say. A message to a subscriber comes before answers.
func byContent(a, b option) int {
	q, r := a.request(), b.request()
	switch {
	case q != nil && r != nil:
		return slices.Compare(q.args, r.args)
	case q == nil && r == nil:
		return bytes.Compare(a.link.replies[0].bytes, b.link.replies[0].bytes)
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
	if o.link != nil {
		return o.link.actor.index
	}
	return maxClients
}

// options lists what could happen next, in an order that depends on names and contents alone: requests and replies by client and
// node, then replication. Faults and waiting are added by choose.
func (w *world) options() []option {
	out := w.possible[:0]
	from := 0
	for i, l := range w.links {
		if i > 0 && (l.actor != w.links[i-1].actor || l.node != w.links[i-1].node) {
			inOrder(out[from:])
			from = len(out)
		}
		if len(l.requests) > 0 && w.canReach(l) && l.requests[0].free() {
			out = append(out, option{kind: deliverRequest, link: l, ready: l.requests[0].ready})
		}
		if len(l.replies) > 0 && w.canAnswer(l) && l.replies[0].free() {
			out = append(out, option{kind: deliverReply, link: l, ready: l.replies[0].ready})
		}
	}
	inOrder(out[from:])
	if w.program.Topology == impls.Replicated && w.pair.pending() {
		out = append(out, option{kind: replicate, ready: w.pair.ready})
	}
	w.possible = out
	return out
}

// reachable reports whether the network carries anything between a link's ends.
func (w *world) reachable(l *link) bool {
	return !w.cut[cutKey{l.actor.index, l.server.index}]
}

// canReach reports whether a request on the link can be delivered now. A stopped client's requests had left before it stopped.
func (w *world) canReach(l *link) bool {
	return l.lost == nil && !l.server.still && !l.server.down && l.parked == nil && w.reachable(l)
}

// canAnswer reports whether a reply on the link can be delivered now.
func (w *world) canAnswer(l *link) bool {
	return l.lost == nil && !l.actor.paused && w.reachable(l)
}

// apply lets the chosen thing happen, if it still can: a timer that ended within the last tick may have closed the connection.
func (w *world) apply(o option) {
	w.step++
	switch o.kind {
	case deliverRequest:
		if len(o.link.requests) == 0 {
			return
		}
		q := takeFirst(&o.link.requests)
		w.content = q.appendContent(w.content[:0])
		w.event(o.kind, o.link, w.content, func() string { return "-> " + q.String() })
		w.executeNow(q)
	case deliverReply:
		if len(o.link.replies) == 0 {
			return
		}
		r := takeFirst(&o.link.replies)
		w.event(o.kind, o.link, r.bytes, func() string { return "<- " + r.String() })
		w.hand(r)
	case replicate:
		if !w.pair.pending() {
			return
		}
		w.event(o.kind, nil, nil, func() string { return "the replica takes over a write" })
		w.note(faults.Step{Kind: faults.StepReplicate})
		w.replicateOne()
	case strike:
		w.event(o.kind, nil, []byte(o.fault.name()), func() string { return "!! " + o.fault.name() })
		o.fault.strike()
	}
}

// takeFirst takes the first of a queue. The others move up: a queue is short, and one that moved on through its storage would need new
// storage for every message.
func takeFirst[T any](queue *[]T) T {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

func (w *world) event(kind optionKind, l *link, content []byte, what func() string) {
	number := uint64(0)
	if l != nil {
		number = l.number >> 16
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
	if bytes, ok := w.execute(q); ok {
		w.answered(q, bytes)
	}
}

// answered makes the reply to a request an event, unless nobody is there to see it or it is lost.
func (w *world) answered(q *request, bytes []byte) {
	l := q.link
	if l.shut || l.lost != nil || l.actor.crashed {
		return
	}
	r := &reply{link: l, request: q, bytes: append([]byte(nil), bytes...)}
	if !w.onReply(r) {
		w.pendReply(r)
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
	return !q.kept && !q.held.After(time.Now()) && !(q.withheld && q.link.actor.paused)
}

// hand returns a reply to its client.
func (w *world) hand(r *reply) {
	l := r.link
	w.noteReply(r, false)
	l.give(r)
}

func (r *reply) free() bool { return !r.kept && !r.held.After(time.Now()) }

// String describes a request in a trace.
func (q *request) String() string {
	c := commandOf(q)
	return fmt.Sprintf("%s %s %v", q.link, c.Name, c.Args)
}

// String describes a reply in a trace.
func (r *reply) String() string {
	if r.request == nil {
		return fmt.Sprintf("%s message %s", r.link, replyText(r.bytes))
	}
	return fmt.Sprintf("%s %s: %s", r.link, r.request.name, replyText(r.bytes))
}
