package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// The methods of faults.World and of faults.Client, which document them. A Director calls them
// while the driver runs.
var (
	_ faults.World  = (*world)(nil)
	_ faults.Client = (*client)(nil)
)

func (w *world) newDirector() *faults.Director {
	p := w.program
	plan := faults.NewPlan(p.Faults, p.Config.Lease, p.Variant.Traits.NilGrants)
	return faults.NewDirector(plan, faults.DirectorConfig{World: w, Topology: p.Topology, Lease: p.Config.Lease, Clients: p.Clients, Began: w.began, Ended: w.ended})
}

// began records a fault in the schedule, and in the trace unless the search chose it: then it is
// there already.
func (w *world) began(f *faults.Fault) {
	if moment := f.Window().Moment; moment != faults.BySearch {
		w.event(placeFault, nil, []byte(f.Fault), func() string { return "!! " + f.Fault + ", " + moment })
	}
	// a standing one is in the tape's program, not in the schedule
	if w.trace.keep && !f.Standing() {
		kind, _ := faults.FindKind(f.Fault)
		at := f.Window()
		spec := faults.Spec{Fault: f.Fault, Client: workloads.ClientIndex(at.Client) + 1, By: f.By, Rate: f.Rate}
		if at.Node >= 0 && (kind.On == faults.OneNode || kind.In == faults.InMessage || f.Node > 0) {
			spec.Node = at.Node + 1
		}
		f.ID = w.note(faults.Step{Kind: faults.StepBegin, Client: at.Client, Node: at.Node, Fault: spec})
	}
	w.noteState(f.Fault, f.Window().Client, f.Window().Node)
}

func (w *world) ended(f *faults.Fault) {
	w.noteState("end of "+f.Fault, f.Window().Client, f.Window().Node)
	if f.Window().Ending > 0 {
		w.event(arranged, nil, nil, func() string { return "a fault ends" })
	}
	if f.ID > 0 {
		w.note(faults.Step{Kind: faults.StepEnd, Of: f.ID, Fault: faults.Spec{Fault: f.Fault}})
	}
}

func (w *world) Now() int64 { return w.timeline() }

func (w *world) After(d time.Duration, do func()) {
	w.after(d, do)
	w.wakeDriver()
}

func (w *world) Client(number int) (faults.Client, error) { return w.clients[number-1], nil }

func (w *world) Isolate(context.Context, int, int) (faults.Undo, error) {
	return nil, fmt.Errorf("%w: the simulator has no sentinels", faults.ErrNothing)
}

func (c *client) Pause(context.Context) (faults.Undo, error) {
	c.paused = true
	c.world.wakeDriver()
	return c.resume, nil
}

// resume resumes a paused client. What arrived meanwhile lies in its sockets and is read first.
func (c *client) resume(context.Context) error {
	if !c.paused {
		return nil
	}
	w := c.world
	c.paused = false
	conns := slices.DeleteFunc(slices.Clone(w.conns), func(cn *conn) bool { return cn.client != c })
	w.inTurn(conns, func(cn *conn) {
		if !cn.writeBy.IsZero() && !w.clock().Before(cn.writeBy) { // a socket would refuse them
			cn.requests = slices.DeleteFunc(cn.requests, func(q *request) bool { return q.withheld })
		}
		for len(cn.replies) > 0 && w.canAnswer(cn) && cn.replies[0].free() {
			if r := takeFirst(&cn.replies); r.ofHandshake() {
				cn.giveReply(r)
			} else {
				w.deliver(r)
			}
		}
		cn.wake()
	})
	for _, turn := range c.waitingForResume {
		w.after(0, func() { close(turn) })
	}
	c.waitingForResume = nil
	w.wakeDriver()
	return nil
}

func (c *client) Crash(context.Context) error {
	c.closeRecord(impls.ErrCrashed.Error())
	for _, cn := range c.world.conns {
		if cn.client == c {
			cn.replies, cn.arrived, cn.parked = nil, nil, nil
			cn.server.Forget(cn)
		}
	}
	c.die()
	c.world.wakeDriver()
	return nil
}

func (c *client) Cancel(context.Context) error {
	if !c.asks() || c.cancel == nil {
		return fmt.Errorf("%w: no acquire is under way", faults.ErrNothing)
	}
	c.cancel()
	return nil
}

func (c *client) Hold() faults.Undo {
	c.momentHolds++
	return func(context.Context) error {
		if c.momentHolds--; c.momentHolds == 0 {
			c.leaveMoment()
		}
		return nil
	}
}

func (w *world) Block(_ context.Context, client, node int) (faults.Undo, error) {
	var keys []cutKey
	for _, c := range w.clients {
		for _, n := range w.nodes {
			k := cutKey{c.index, n.index}
			if (client == faults.All || client == c.index+1) && (node == faults.All || node == n.index) && !w.cut[k] {
				keys = append(keys, k)
				w.cut[k] = true
			}
		}
	}
	return func(context.Context) error {
		for _, k := range keys {
			delete(w.cut, k)
		}
		// the waiting dials try again, one after the other: those of one client would otherwise do
		// so in any order
		slices.SortStableFunc(w.dials, func(a, b waitingDial) int {
			return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.client, b.client), cmp.Compare(a.node, b.node))
		})
		for _, d := range w.dials {
			w.after(0, func() { close(d.turn) })
		}
		w.dials = nil
		return nil
	}, nil
}

func (w *world) Slow(_ context.Context, delay time.Duration, bytesPerSecond float64) (faults.Undo, error) {
	before := w.slow
	w.slow.delay += delay
	if bytesPerSecond > 0 && (w.slow.rate == 0 || bytesPerSecond < w.slow.rate) {
		w.slow.rate = bytesPerSecond
	}
	return func(context.Context) error { w.slow = before; return nil }, nil
}

func (w *world) CutSubscribers(_ context.Context, stay bool) (cut int, undo faults.Undo, err error) {
	listening := slices.DeleteFunc(slices.Clone(w.conns), func(cn *conn) bool { return !cn.server.Subscribed(cn) })
	w.inTurn(listening, w.cutConn)
	if stay {
		w.noSubscribers++
		undo = func(context.Context) error { w.noSubscribers--; return nil }
	}
	return len(listening), undo, nil
}
