package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// The methods of faults.World, which documents them. A Director calls them while the driver runs.
var _ faults.World = (*world)(nil)

func (w *world) newDirector() *faults.Director {
	p := w.program
	plan := faults.NewPlan(p.Faults, p.Config.Lease, p.Variant.Traits.NilGrants)
	return faults.NewDirector(plan, faults.DirectorConfig{World: w, Lease: p.Config.Lease, Clients: p.Clients, Began: w.began, Ended: w.ended})
}

// began records a fault in the schedule, and in the trace unless the search chose it: then it is there already.
func (w *world) began(f *faults.Fault) {
	if moment := f.Window().Moment; moment != faults.BySearch {
		w.trace.event(w.now(), placeFault, 0, []byte(f.Fault), func() string { return "!! " + f.Fault + ", " + moment })
	}
	w.noteFault(f)
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

func (w *world) PauseClient(_ context.Context, client int) (faults.Undo, error) {
	c := w.clients[client-1]
	c.paused = true
	w.wakeDriver()
	return func(context.Context) error { w.resumeClient(c); return nil }, nil
}

// resumeClient resumes a client. What arrived meanwhile lies in its sockets and is read first.
func (w *world) resumeClient(c *client) {
	if !c.paused {
		return
	}
	c.paused = false
	conns := slices.DeleteFunc(slices.Clone(w.conns), func(cn *conn) bool { return cn.client != c })
	w.inTurn(conns, func(cn *conn) {
		cn.giveUp(w.clock())
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
}

func (w *world) CrashClient(_ context.Context, client int) error {
	c := w.clients[client-1]
	c.closeRecord(impls.ErrCrashed.Error())
	for _, cn := range w.conns {
		if cn.client == c {
			cn.replies, cn.arrived, cn.parked = nil, nil, nil
			cn.server.subs.forget(cn)
		}
	}
	c.die()
	w.wakeDriver()
	return nil
}

func (w *world) CancelClient(_ context.Context, client int) error {
	c := w.clients[client-1]
	if !c.asks() || c.cancel == nil {
		return fmt.Errorf("%w: no acquire is under way", faults.ErrNothing)
	}
	c.cancel()
	return nil
}

func (c *client) asks() bool {
	return slices.ContainsFunc(c.open, func(op history.Operation) bool { return op.Op == history.Acquire })
}

// scope returns the context under which the client's next acquire runs, so that a fault can cancel it and nothing else.
func (c *client) scope(ctx context.Context) (context.Context, context.CancelFunc) {
	scoped, cancel := context.WithCancel(ctx)
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.cancel = cancel
	return scoped, cancel
}

func (w *world) HoldClient(_ context.Context, client int) (faults.Undo, error) {
	c := w.clients[client-1]
	c.momentHolds++
	return func(context.Context) error {
		if c.momentHolds--; c.momentHolds == 0 {
			c.leaveMoment()
		}
		return nil
	}, nil
}

// leaveMoment releases a client that was held at a moment.
func (c *client) leaveMoment() {
	if c.blockedMoment != nil {
		close(c.blockedMoment)
	}
	c.blockedMoment = nil
}

func (w *world) SkewClient(client int, by time.Duration) { w.clients[client-1].skew += by }

func (w *world) SlowClient(client int, work time.Duration) { w.clients[client-1].slow = work }

func (w *world) CollideOwners() string {
	w.owner = faults.SharedOwner
	return w.owner
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
		w.retryDials()
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

// slowness is the effect of a slow network on messages. Only one is in force at a time; see [faults.Director].
type slowness struct {
	delay time.Duration
	rate  float64 // bytes per second; 0 means unlimited
}

// onItsWay returns when a message arrives at the earliest, and schedules a check then; zero if the network is not slow. The link is idle from free.
func (w *world) onItsWay(bytes int, free *time.Time) (held time.Time) {
	if w.slow == (slowness{}) {
		return time.Time{}
	}
	now := w.clock()
	held = now.Add(w.slow.delay)
	if w.slow.rate > 0 {
		if free.Before(now) {
			*free = now
		}
		*free = free.Add(time.Duration(float64(bytes) / w.slow.rate * float64(time.Second)))
		if free.After(held) {
			held = *free
		}
	}
	w.after(held.Sub(now), func() {})
	return held
}

// sizeOf returns the approximate size of a request on the wire, in bytes.
func sizeOf(args []string) (n int) {
	for _, a := range args {
		n += len(a) + len("$00\r\n\r\n")
	}
	return n
}

func (w *world) CutSubscribers(_ context.Context, stay bool) (cut int, undo faults.Undo, err error) {
	listening := slices.DeleteFunc(slices.Clone(w.conns), func(cn *conn) bool { return !cn.server.subs.has(cn) })
	w.inTurn(listening, w.cutConn)
	if stay {
		w.noSubscribers++
		undo = func(context.Context) error { w.noSubscribers--; return nil }
	}
	return len(listening), undo, nil
}

// forbids reports whether a request subscribes while a fault forbids it.
func (w *world) forbids(q *request) bool {
	return w.noSubscribers > 0 && (q.name == "SUBSCRIBE" || q.name == "PSUBSCRIBE" || q.name == "SSUBSCRIBE")
}

func (w *world) cutConn(cn *conn) {
	cn.requests = nil
	cn.fail(errCut)
}

type onMessage struct {
	*conn
	kept *bool
	lose func() // drops it, and its connection
}

var _ faults.Message = onMessage{}

// onRequest returns a request on its way. It is lost now, or else when it would arrive.
func onRequest(q *request, now bool) faults.Message {
	lose := func() { q.doomed = true }
	if now {
		lose = func() { q.conn.world.lose(q) }
	}
	return onMessage{q.conn, &q.kept, lose}
}

func onReply(r *reply) faults.Message {
	return onMessage{r.conn, &r.kept, func() {
		r.lost = true
		r.conn.world.noteReply(r, true)
		r.conn.world.cutConn(r.conn)
	}}
}

func (m onMessage) Client() int { return m.client.index + 1 }

func (m onMessage) Node() int { return m.target() }

func (m onMessage) Lose() { m.lose() }

func (m onMessage) Hold() func() {
	*m.kept = true
	return func() { *m.kept = false }
}

func (w *world) lose(q *request) {
	w.noteRequest(q, true)
	w.cutConn(q.conn)
}

// target returns the number of the node to which a connection leads.
func (cn *conn) target() int {
	if cn.node == cn.world.storeIndex() {
		return storeNode
	}
	return cn.node
}

// onSend applies the faults placed before a request leaves its client, and then those on its way, and reports whether there were any. A client that was
// stopped or killed by then does not send it.
func (w *world) onSend(q *request) (injected bool) {
	c := q.conn.client
	if !w.director.Plan().WatchesMessages(c.index+1, faults.Leaving, faults.Underway) {
		return false
	}
	e := faults.Event{Kind: faults.Messages, Client: c.index + 1, Stage: faults.Leaving, Operation: q.op, Command: &c.commands[q.command], Write: resp.IsWrite(q.name)}
	for _, e.Stage = range []faults.Stage{faults.Leaving, faults.Underway} {
		if !w.director.Plan().Watches(e) {
			continue
		}
		injected = true
		w.director.Event(context.Background(), e, onRequest(q, false))
		q.withheld = q.withheld || c.paused
		if c.crashed {
			q.conn.requests = slices.DeleteFunc(q.conn.requests, func(o *request) bool { return o == q })
			return true
		}
	}
	return injected
}

// onReply applies the faults placed between a request's effect and its reply; lost reports whether the reply is lost.
func (w *world) onReply(r *reply) (lost bool) {
	if r.request == nil {
		return false
	}
	c := r.conn.client
	if !w.director.Plan().WatchesMessages(c.index+1, faults.Answered, faults.Returning) {
		return false
	}
	command := c.commands[r.request.command]
	command.Reply = replyText(r.bytes)
	for _, at := range []faults.Stage{faults.Answered, faults.Returning} {
		w.director.Event(context.Background(), faults.Event{Kind: faults.Messages, Client: c.index + 1, Stage: at, Operation: r.request.op, Command: &command,
			Write: resp.IsWrite(r.request.name)}, onReply(r))
	}
	return r.lost
}

func (w *world) Nodes() int { return len(w.lockNodes()) }

func (w *world) lockNodes() []*node { return w.nodes[:w.storeIndex()] }

func (w *world) up(node int) (*node, error) {
	n := w.nodes[node]
	if n.down {
		return n, fmt.Errorf("node %d is down", node+1)
	}
	return n, nil
}

// role returns the node that a number means when connections follow the roles of a pair: 0 is the primary.
func (w *world) role(node int) int {
	if w.program.Topology == impls.Replicated && w.primary == 1 {
		return 1 - node
	}
	return node
}

func (w *world) KillServer(_ context.Context, node int) error {
	n, err := w.up(node)
	if err != nil {
		return err
	}
	n.had, n.kept = n.copy(w.clock()), w.saved(n)
	n.down, n.paused = true, false
	w.dropConns(n)
	w.disconnected(n)
	return nil
}

// RestartServer restarts a node with the data that its persistence kept.
func (w *world) RestartServer(_ context.Context, node int) (history.Effect, error) {
	n := w.nodes[node]
	n.down = false
	clear(n.scripts)
	n.load(n.kept, w.clock())
	if w.program.Topology == impls.Replicated {
		w.reconnected()
	}
	kept, lost := n.had.lostTo(n.kept)
	return history.Effect{Node: w.program.Topology.Address(node), What: history.Restarted, Turn: n.kept.turn, Known: true, Kept: kept, Lost: lost}, nil
}

// dropConns breaks every connection of a node. What the node had sent is lost.
func (w *world) dropConns(n *node) {
	var conns []*conn
	for _, cn := range w.conns {
		if cn.server == n && cn.lost == nil {
			cn.requests = nil
			conns = append(conns, cn)
		}
	}
	w.inTurn(conns, func(cn *conn) { cn.fail(errGone) })
}

func (w *world) StopServer(_ context.Context, node int) error {
	n, err := w.up(node)
	if err == nil {
		n.paused = true
	}
	return err
}

func (w *world) ContinueServer(_ context.Context, node int) error {
	w.nodes[node].paused = false
	w.wakeDriver()
	return nil
}

func (w *world) JumpClock(_ context.Context, node int, by time.Duration) (e history.Effect, err error) {
	n, err := w.up(node)
	if err != nil {
		return e, err
	}
	n.jump(w.clock(), by)
	return history.Effect{Node: w.program.Topology.Address(node), What: history.ClockSet, By: int64(by), Turn: n.turn, Known: true}, nil
}

func (w *world) DriftClock(_ context.Context, node int, rate float64) (e history.Effect, err error) {
	n, err := w.up(node)
	if err != nil {
		return e, err
	}
	n.setRate(w.clock(), rate)
	return history.Effect{Node: w.program.Topology.Address(node), What: history.ClockRate, PPM: int64((rate - 1) * 1e6), Turn: n.turn, Known: true}, nil
}

func (w *world) SetClockRight(_ context.Context, node int) ([]history.Effect, error) {
	n, now := w.nodes[node], w.clock()
	off := n.clock.now(now).Sub(now)
	n.setRight(now)
	return []history.Effect{{Node: w.program.Topology.Address(node), What: history.ClockRate, Turn: n.turn, Known: true},
		{Node: w.program.Topology.Address(node), What: history.ClockSet, By: -int64(off), Turn: n.turn, Known: true}}, nil
}

func (w *world) FlushScripts(_ context.Context, node int) error {
	n, err := w.up(w.role(node))
	if err == nil {
		clear(n.scripts)
	}
	return err
}

// DeleteKeys deletes the lock's keys from a node. A replica has no keys of its own to delete.
func (w *world) DeleteKeys(_ context.Context, node int) (e history.Effect, err error) {
	if w.program.Topology == impls.Replicated && node != 0 {
		return e, nil
	}
	n, err := w.up(w.role(node))
	if err != nil {
		return e, err
	}
	n.tick(w.clock())
	db := n.redis.DB(0)
	keys := db.Keys()
	if len(keys) == 0 {
		return e, nil
	}
	for _, key := range keys {
		db.Del(key)
	}
	n.turn++
	w.written(n)
	return history.Effect{Node: w.program.Topology.Address(node), What: history.Deleted, Lost: keys, Turn: n.turn, Known: true}, nil
}

// EvictKeys evicts the lock's keys from a node, as if its memory were full.
func (w *world) EvictKeys(ctx context.Context, node int) ([]history.Effect, error) {
	e, err := w.DeleteKeys(ctx, node)
	if err != nil || e.What == "" {
		return nil, err
	}
	e.What = history.Evicted
	return []history.Effect{e}, nil
}
