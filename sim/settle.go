package sim

import (
	"cmp"
	"context"
	"fmt"
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

// admitRequests admits the requests that were sent, in order of client, node and content, several
// of one connection as a batch, and applies the faults placed before they leave.
func (w *world) admitRequests() (did bool) {
	fresh := w.fresh
	w.fresh = nil
	slices.SortStableFunc(fresh, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.conn.client.index, b.conn.client.index), cmp.Compare(a.conn.node, b.conn.node), slices.Compare(a.args, b.args))
	})
	for i := 0; w.program.Variant.Traits.Multiplexes && i < len(w.conns); i++ {
		cn := w.conns[i]
		own := slices.DeleteFunc(slices.Clone(fresh), func(q *request) bool { return q.conn != cn })
		first := slices.IndexFunc(cn.requests, func(q *request) bool { return slices.Contains(own, q) })
		if len(own) < 2 || first < 0 {
			continue
		}
		b := &batch{written: slices.Clone(cn.requests[first:])}
		b.replies = make([]*reply, len(b.written))
		for i, q := range b.written {
			q.batch = b
			if !q.handshake {
				cn.requests[first+i], own = own[0], own[1:]
			}
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
		asks := len(cn.requests) > 0 && cn.requests[0].handshake && w.canReach(cn)
		isAnswered := len(cn.replies) > 0 && cn.replies[0].ofHandshake() && w.canAnswer(cn)
		if !asks && !isAnswered {
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

// traceOps numbers the operations recorded since the last event and adds them to the trace, ordered
// by client, time and content.
func (w *world) traceOps() {
	for _, c := range w.clients {
		slices.SortStableFunc(c.ops[c.traced:], func(x, y history.Operation) int {
			return cmp.Or(cmp.Compare(x.Return, y.Return), cmp.Compare(y.Call, x.Call), cmp.Compare(x.Op, y.Op), strings.Compare(x.Key, y.Key),
				cmp.Compare(x.Outcome, y.Outcome), strings.Compare(x.Token, y.Token))
		})
		for ; c.traced < len(c.ops); c.traced++ {
			op := &c.ops[c.traced]
			op.ID = uint64(c.index)*clientIDs + uint64(c.traced) + 1
			h := mix(w.trace.hash, uint64(op.Call), uint64(op.Return), uint64(op.Op)<<8|uint64(op.Outcome))
			w.trace.hash = mixText(mixText(h, op.Token), op.Err)
			if w.trace.keep {
				w.trace.lines = append(w.trace.lines, fmt.Sprintf("%12.6f  %s %s %s %s", time.Duration(op.Return).Seconds(), op.Client, op.Op, op.Key,
					strings.TrimSpace(op.Outcome.String()+" "+op.Err)))
			}
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

// loopAfter is how many commands, in one operation and within a lease divided by loopShare, make a
// client count as looping: one that polls sends few.
const (
	loopAfter = 500
	loopShare = 100
)

// countBurst counts a command, and ends the schedule if its client loops.
func (w *world) countBurst(c *client) {
	if w.now() > c.burstBegan+w.program.Config.Lease/loopShare {
		c.commandsSince, c.burstBegan = 0, w.now()
	}
	if c.commandsSince++; c.commandsSince < loopAfter || w.out.Loop != nil {
		return
	}
	// the shortest sequence that the last commands repeat
	same := func(a, b history.Command) bool { return a.Name == b.Name && a.Script == b.Script && a.Node == b.Node }
	last := c.commands[max(0, len(c.commands)-loopAfter):]
	period := last[max(0, len(last)-10):]
	for n := 1; n <= len(last)/3; n++ {
		before := last[len(last)-2*n : len(last)-n] // these have their replies
		if slices.EqualFunc(last[len(last)-n:], before, same) {
			period = before
			break
		}
	}
	w.out.Loop = &Loop{Client: c.name, Sent: loopAfter, In: w.now() - c.burstBegan, Commands: period}
}
