package sim

import (
	"cmp"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
)

// What goroutines do at one instant they do in the runtime's order. Here it gets an order that depends on names and contents alone,
// before it is numbered, traced, or struck by a fault.

// catchUp deals with everything that has come up since the last event. What it lets goroutines do may bring up more at the same instant.
func (w *world) catchUp() {
	for w.due() || w.passMoments() || w.greet() || w.admit() {
	}
}

// letRun lets goroutines run until all are blocked.
func (w *world) letRun() {
	w.mu.Unlock()
	synctest.Wait()
	w.mu.Lock()
}

// due does what was arranged for now or before, one after the other.
func (w *world) due() (did bool) {
	for ; len(w.timed) > 0 && !w.timed[0].at.After(time.Now()); did = true {
		t := w.timed[0]
		w.timed = w.timed[1:]
		t.do()
		w.letRun()
	}
	return did
}

// halt is a moment that a client has reached.
type halt struct {
	moment history.Moment
	pass   chan struct{} // closed when the client may go on; nil when nothing is placed at the moment
}

// reach tells the driver of a moment, and waits for it when a fault may strike there. It is called by the client's goroutine.
func (w *world) reach(a *actor, m history.Moment) {
	if pass := w.halt(a, m); pass != nil {
		<-pass
	}
}

// halt puts a moment before the driver, and gives what to wait for; nil when nothing is placed there.
func (w *world) halt(a *actor, m history.Moment) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.director.Plan().Reach(a.index+1, m)
	if m == history.Entered && !a.frozen {
		w.director.Entered(a.index + 1)
	}
	watched := w.watches(a, m)
	if a.frozen || !watched && !w.trace.keep {
		return nil
	}
	h := &halt{moment: m}
	a.reached = append(a.reached, h)
	if watched {
		h.pass = make(chan struct{})
		w.active()
	}
	return h.pass
}

// passMoments strikes what is placed at the moments that clients have reached, client by client, and lets them go on.
func (w *world) passMoments() (did bool) {
	for _, a := range w.actors {
		for len(a.reached) > 0 {
			h := a.reached[0]
			a.reached = a.reached[1:]
			w.noteMoment(a, h.moment)
			if h.pass == nil {
				continue
			}
			if w.moment(a, h.moment); a.holds > 0 {
				a.kept = h.pass
			} else {
				close(h.pass)
			}
			w.letRun()
			did = true
		}
	}
	return did
}

// admit takes note of the requests that were sent, in order of client, node and content, and strikes what is placed before they leave.
func (w *world) admit() (did bool) {
	fresh := w.fresh
	w.fresh = nil
	slices.SortStableFunc(fresh, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.link.actor.index, b.link.actor.index), cmp.Compare(a.link.node, b.link.node), slices.Compare(a.args, b.args))
	})
	if w.program.Variant.Traits.Multiplexes {
		for _, l := range w.links {
			l.together(slices.DeleteFunc(slices.Clone(fresh), func(q *request) bool { return q.link != l }))
		}
	}
	for _, q := range fresh {
		q.link.enterLane(q)
		w.spins(q.link.actor)
		if w.sent++; w.program.Enough > 0 && w.sent >= w.program.Enough && !w.stricken() {
			w.lastRound()
		}
		did = w.onSend(q) || did
	}
	if did {
		w.letRun()
	}
	return did
}

// greet lets handshakes go on that had to wait.
func (w *world) greet() (did bool) {
	for _, l := range w.links {
		if l.greet() {
			w.letRun()
			return true
		}
	}
	return false
}

// greet answers the handshakes of a link that have their turn; did when the client was given something.
func (l *link) greet() (did bool) {
	w := l.world
	for len(l.requests) > 0 && l.requests[0].quiet && w.canReach(l) {
		q := takeFirst(&l.requests)
		if len(l.replies) == 0 && q.batch == nil && w.canAnswer(l) {
			answer := w.perform(l, q.args)
			l.actor.learn(l.place(), mixText(hashArgs(q.args), answer))
			l.arrive(answer)
			did = true
			continue
		}
		l.replies = append(l.replies, &reply{link: l, request: q, bytes: slices.Clone(w.perform(l, q.args))})
	}
	for len(l.replies) > 0 && l.replies[0].quiet() && w.canAnswer(l) {
		l.give(takeFirst(&l.replies))
		did = true
	}
	return did
}

// quiet reports whether a reply is that of a handshake.
func (r *reply) quiet() bool { return r.request != nil && r.request.quiet }

// traceOps puts what clients have recorded since the last event into the trace and numbers it, client by client and, of one client, by time
// and content.
func (w *world) traceOps() {
	for _, a := range w.actors {
		slices.SortStableFunc(a.ops[a.traced:], func(x, y history.Operation) int {
			return cmp.Or(cmp.Compare(x.Return, y.Return), cmp.Compare(y.Call, x.Call), cmp.Compare(x.Op, y.Op), strings.Compare(x.Key, y.Key),
				cmp.Compare(x.Outcome, y.Outcome), strings.Compare(x.Token, y.Token))
		})
		for ; a.traced < len(a.ops); a.traced++ {
			a.ops[a.traced].ID = uint64(a.index)*clientIDs + uint64(a.traced) + 1
			w.trace.op(a.ops[a.traced])
		}
	}
}

// clientIDs is the distance between the first operation numbers of two clients.
const clientIDs = 1 << 40

// inTurn does something to links, one after the other, and lets goroutines run in between: those of one client would else come in any order.
func (w *world) inTurn(links []*link, do func(*link)) {
	slices.SortStableFunc(links, func(a, b *link) int {
		return cmp.Or(cmp.Compare(a.actor.index, b.actor.index), cmp.Compare(a.node, b.node), cmp.Compare(a.last, b.last))
	})
	for _, l := range links {
		w.after(0, func() { do(l) })
	}
	w.active()
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
