package sim

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// What goroutines do at one instant comes in the runtime's order. It is sorted by names and
// contents before it is numbered, traced or hit by a fault.

// settleInstant handles everything that has come up since the last event, until nothing more comes
// up at the same instant.
func (w *world) settleInstant() {
	for w.runTimers() || w.passMoments() || w.answerHandshakes() || w.admitRequests() {
	}
}

// catchUp lets the time pass in the bubble that has passed for the driver; it reports whether there
// was any.
func (w *world) catchUp() bool {
	if w.ahead.Load() == 0 {
		return false
	}
	w.mu.Unlock()
	w.pass(0, nil)
	w.mu.Lock()
	return true
}

func (w *world) runGoroutines() {
	w.mu.Unlock()
	synctest.Wait()
	w.mu.Lock()
}

func (w *world) runTimers() (did bool) {
	for ; len(w.timers) > 0 && !w.timers[0].at.After(w.clock()); did = true {
		if w.catchUp() {
			continue
		}
		t := w.timers[0]
		w.timers = w.timers[1:]
		t.do()
		w.runGoroutines()
	}
	return did
}

type reachedMoment struct {
	faults.Event
	pass chan struct{} // closed when the client may go on; nil if nothing is placed at the moment
}

// reachMoment queues a moment for the driver, and returns the channel to wait on; nil if no fault
// may be injected there.
func (w *world) reachMoment(c *client, m history.Moment) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.recordClosed {
		return nil
	}
	w.director.Reach(c.index+1, m)
	e := faults.Event{Kind: faults.Moment, Client: c.index + 1, Moment: m}
	watched := w.director.Plan().Watches(e)
	if !watched && !w.trace.keep {
		return nil
	}
	h := &reachedMoment{Event: e}
	c.moments = append(c.moments, h)
	if watched {
		h.pass = make(chan struct{})
		w.wakeDriver()
	}
	return h.pass
}

// passMoments applies the faults placed at the moments that clients have reached, client by client,
// and lets the clients go on.
func (w *world) passMoments() (did bool) {
	for _, c := range w.clients {
		for len(c.moments) > 0 {
			h := c.moments[0]
			c.moments = c.moments[1:]
			w.note(faults.Step{Kind: faults.StepMoment, Client: c.name, Command: string(h.Moment)})
			if h.pass == nil {
				continue
			}
			if w.director.Event(context.Background(), h.Event, nil); c.momentHolds > 0 {
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

// admitRequests admits the requests that were sent, in order of client, node and content, and
// applies the faults placed before they leave.
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
		if w.sent++; w.program.Enough > 0 && w.sent >= w.program.Enough && !w.director.InForce() {
			w.lastRound()
		}
		did = w.onSend(q) || did
	}
	if did {
		w.runGoroutines()
	}
	return did
}

// answerHandshakes resumes delayed handshakes.
func (w *world) answerHandshakes() (did bool) {
	for _, cn := range w.conns {
		if !cn.handshakeDue() {
			continue
		}
		if w.catchUp() {
			return true
		}
		if cn.answerHandshakes() {
			w.runGoroutines()
			return true
		}
	}
	return false
}

// handshakeDue reports whether it is the turn of a handshake, or of the reply to one.
func (cn *conn) handshakeDue() bool {
	return len(cn.requests) > 0 && cn.requests[0].handshake && cn.world.canReach(cn) ||
		len(cn.replies) > 0 && cn.replies[0].ofHandshake() && cn.world.canAnswer(cn)
}

// answerHandshakes answers the handshakes of a connection whose turn has come; it reports whether
// the client received something.
func (cn *conn) answerHandshakes() (did bool) {
	w := cn.world
	for len(cn.requests) > 0 && cn.requests[0].handshake && w.canReach(cn) {
		q := takeFirst(&cn.requests)
		answer := w.perform(cn, q.args)
		w.executed(q, answer)
		cn.seen = cn.server.writes
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

func (r *reply) ofHandshake() bool { return r.request != nil && r.request.handshake }

// traceOps numbers the operations recorded since the last event and adds them to the trace, ordered
// by client, time and content.
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

// inTurn calls do for connections one after the other, and runs goroutines in between: otherwise
// those of one client would act in any order.
func (w *world) inTurn(conns []*conn, do func(*conn)) {
	slices.SortStableFunc(conns, func(a, b *conn) int {
		return cmp.Or(cmp.Compare(a.client.index, b.client.index), cmp.Compare(a.node, b.node), cmp.Compare(a.last, b.last))
	})
	for _, cn := range conns {
		w.after(0, func() { do(cn) })
	}
	w.wakeDriver()
}

// latest is the greatest lateness of a time-out: a context that ends at that instant comes first,
// and no two connections of a client time out at once.
const latest = 50 * time.Microsecond

// lateness returns how late a time-out is on a client's connection to a node, given the last
// request.
func lateness(client, node int, last uint64) time.Duration {
	return 1 + time.Duration(mix(hashStart, uint64(client), uint64(node), last)%uint64(latest))
}
