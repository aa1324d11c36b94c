package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// options lists what could happen next, in an order that depends only on names and contents:
// requests and replies by client and node, then replication. choose adds faults and waiting.
func (w *world) options() []option {
	out := w.possible[:0]
	from := 0
	for i, cn := range w.conns {
		if i > 0 && (cn.client != w.conns[i-1].client || cn.node != w.conns[i-1].node) {
			inOrder(out[from:])
			from = len(out)
		}
		if len(cn.requests) > 0 && w.canReach(cn) {
			if q := cn.requests[0]; !q.kept && w.arrivesBy(q.held) && !(q.withheld && cn.client.paused) {
				out = append(out, option{kind: deliverRequest, conn: cn, ready: q.ready})
			}
		}
		if len(cn.replies) > 0 && w.canAnswer(cn) && cn.replies[0].free() {
			out = append(out, option{kind: deliverReply, conn: cn, ready: cn.replies[0].ready})
		}
	}
	inOrder(out[from:])
	for i := range w.links {
		if l := &w.links[i]; w.replicates(l) {
			out = append(out, option{kind: replicate, replica: l.replica.index, ready: l.ready, nth: l.taken + 1})
		}
	}
	w.possible = out
	return out
}

// apply performs the chosen option, if it still can: a timer that fired within the last tick may
// have closed the connection.
func (w *world) apply(o option) {
	w.step++
	switch o.kind {
	case deliverRequest:
		if len(o.conn.requests) == 0 {
			return
		}
		q := takeFirst(&o.conn.requests)
		w.content = append(w.content[:0], q.name...)
		for i, arg := range q.args[1:] {
			if i > 0 {
				w.content = append(w.content, 0)
			}
			w.content = append(w.content, arg...)
		}
		w.event(o.kind, o.conn, w.content, func() string {
			c := commandOf(q)
			return fmt.Sprintf("-> %s %s %v", q.conn, c.Name, c.Args)
		})
		w.execute(q)
	case deliverReply:
		if len(o.conn.replies) == 0 {
			return
		}
		w.deliver(takeFirst(&o.conn.replies))
	case replicate:
		i := slices.IndexFunc(w.links, func(l link) bool { return l.replica.index == o.replica })
		if i < 0 || !w.replicates(&w.links[i]) {
			return
		}
		l := &w.links[i]
		if o.replica == 1 { // the one that a failover promotes
			w.event(o.kind, nil, nil, func() string { return "the replica takes over a write" })
			w.note(faults.Step{Kind: faults.StepReplicate})
		} else {
			name := o.event().name()
			w.event(o.kind, nil, []byte(name), func() string { return name })
		}
		w.replicateOne(l)
	case placeFault:
		name := o.fault.name(event.way)
		w.event(o.kind, nil, []byte(name), func() string { return "!! " + name })
		w.place(o.fault)
	}
}

func (w *world) deliver(r *reply) {
	w.event(deliverReply, r.conn, r.bytes, func() string {
		if r.request == nil {
			return fmt.Sprintf("<- %s message %s", r.conn, replyText(r.bytes))
		}
		return fmt.Sprintf("<- %s %s: %s", r.conn, r.request.name, replyText(r.bytes))
	})
	w.noteReply(r, false)
	r.conn.giveReply(r)
}

// affectsNodeOnly reports whether an option is a request that wakes no goroutine, and none wakes by
// itself before it: no fault strikes at the request or at a reply, no sleep ends, no reader gives
// up, and no client waits by a timer of its own.
func (w *world) affectsNodeOnly(o option) bool {
	if o.kind != deliverRequest || w.bounds.Instant || o.request().doomed || w.noSubscribers > 0 {
		return false
	}
	soon := w.clock().Add(tick)
	due := func(t time.Time) bool { return !t.After(soon) }
	// a timer that the driver does not know: it neither sleeps by its clock nor waits for a reply
	mayHaveTimer := func(c *client) bool {
		return !c.done && !c.paused && c.asleep == 0 &&
			!slices.ContainsFunc(w.conns, func(cn *conn) bool { return cn.client == c && cn.inUse > 0 && !cn.shut })
	}
	return (w.expiry.IsZero() || !due(w.expiry)) && !slices.ContainsFunc(w.sleeps, due) &&
		!slices.ContainsFunc(w.clients, mayHaveTimer) && !w.director.Plan().WatchesMessages(0, faults.Answered, faults.Returning)
}

// event adds an event that the scheduler released to the trace. It calls what only if lines are
// kept.
func (w *world) event(kind optionKind, cn *conn, content []byte, what func() string) {
	number := uint64(0)
	if cn != nil {
		number = cn.number >> 16
	}
	now := w.now()
	w.trace.hash = mixText(mix(w.trace.hash, uint64(now), uint64(kind), number), content)
	if w.trace.keep {
		w.trace.lines = append(w.trace.lines, fmt.Sprintf("%12.6f  %s", now.Seconds(), what()))
	}
}

func (w *world) replicateOne(l *link) {
	u := takeFirst(&l.stream)
	l.applied, l.turn, l.ready = u.write, u.turn, w.step
	l.taken++
	l.apart = l.apart && !u.whole
	l.replica.Load(u.data, w.clock())
	w.retryParked(l.primary)
}
