package sim

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// open begins a fault window and gives what ends it.
func (w *world) open(fault, client string, node int, moment string) (end func()) {
	i, begin := len(w.windows), w.noteFault(fault, client, node)
	w.windows = append(w.windows, history.Window{Fault: fault, Client: client, Node: node, Start: w.timeline(), Confirmed: true, Moment: moment})
	return func() {
		if w.windows[i].End == 0 {
			w.windows[i].End = w.timeline()
			w.note(faults.Step{Kind: faults.StepEnd, Of: begin, Fault: faults.Spec{Fault: fault}})
		}
	}
}

// instant records a fault that is over as soon as it is done.
func (w *world) instant(fault, client string, node int, moment string) {
	w.open(fault, client, node, moment)()
}

// extent is how long a fault lasts: for d, and until ready says so, at most ten leases more. Without ready, d 0 is for ever.
type extent struct {
	d     time.Duration
	ready func() bool
}

// longestWait is how many leases an event is waited for before a fault ends all the same.
const longestWait = 10

// lasting arranges the end of a fault.
func (w *world) lasting(e extent, end func()) {
	over := false
	finish := func() {
		if !over {
			over = true
			end()
			w.event(arranged, nil, nil, func() string { return "a fault ends" })
		}
	}
	switch {
	case e.ready != nil:
		earliest := time.Now().Add(e.d)
		try := func() {
			if !over && !time.Now().Before(earliest) && e.ready() {
				w.after(faults.Settle, finish)
			}
		}
		w.onEnter = append(w.onEnter, try)
		w.after(e.d, try)
		w.after(e.d+longestWait*w.program.Config.Lease, finish)
	case e.d > 0:
		w.after(e.d, finish)
	}
}

// otherEnters makes an extent that ends when, after d, another client than a enters its critical section: one that entered before may
// be about to leave it. The first look is at d.
func (w *world) otherEnters(a *actor, d time.Duration) extent {
	looked, before, own := false, 0, 0
	return extent{d, func() bool {
		if !looked {
			looked, before, own = true, w.entered, w.entries[a.index]
		}
		return w.entered-before > w.entries[a.index]-own || w.alone(a)
	}}
}

// alone tells whether all other clients are done or dead: nobody is left to enter.
func (w *world) alone(a *actor) bool {
	for _, other := range w.actors {
		if other != a && !other.done && !other.crashed {
			return false
		}
	}
	return true
}

// pauseClient stops everything of a client.
func (w *world) pauseClient(a *actor, e extent, moment string) {
	if a.paused || a.crashed || a.done {
		return
	}
	a.paused = true
	end := w.open(faults.PauseClient, a.name, -1, moment)
	w.lasting(e, func() { w.resumeClient(a); end() })
	w.active()
}

// resumeClient lets a client go on. What came for it meanwhile lies in its sockets: it is read first.
func (w *world) resumeClient(a *actor) {
	if !a.paused {
		return
	}
	a.paused = false
	links := slices.DeleteFunc(slices.Clone(w.links), func(l *link) bool { return l.actor != a })
	w.inTurn(links, func(l *link) {
		l.giveUp(time.Now())
		for len(l.replies) > 0 && w.canAnswer(l) && l.replies[0].free() {
			r := takeFirst(&l.replies)
			if r.quiet() {
				l.give(r)
				continue
			}
			w.event(deliverReply, l, r.bytes, func() string { return "<- " + r.String() })
			w.hand(r)
		}
		l.wake()
	})
	for _, turn := range a.held {
		w.after(0, func() { close(turn) })
	}
	a.held = nil
	w.active()
}

// crashClient kills a client; its machine closes its connections.
func (w *world) crashClient(a *actor, moment string) {
	if a.crashed || a.done {
		return
	}
	a.closeRecord(impls.ErrCrashed.Error())
	for _, l := range w.links {
		if l.actor == a {
			l.replies, l.arrived, l.parked = nil, nil, nil
			l.server.subs.forget(l)
		}
	}
	a.die()
	w.retryExtents()
	w.open(faults.CrashClient, a.name, -1, moment)
	w.active()
}

// cancelClient cancels the context of the client's acquire, if one is under way.
func (w *world) cancelClient(a *actor, moment string) {
	w.instant(faults.CancelClient, a.name, -1, moment)
	if a.cancel != nil {
		a.cancel()
	}
}

// asks tells whether the client has an acquire under way.
func (a *actor) asks() bool {
	return slices.ContainsFunc(a.open, func(op history.Operation) bool { return op.Op == history.Acquire })
}

// scope gives the context under which the client's next acquire runs, so that a fault can cancel it and nothing else.
func (a *actor) scope(ctx context.Context) (context.Context, context.CancelFunc) {
	scoped, cancel := context.WithCancel(ctx)
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	a.cancel = cancel
	return scoped, cancel
}

// cutLink breaks a connection.
func (w *world) cutLink(l *link) {
	l.requests = nil
	l.breakOff(errCut)
}

// loseRequest drops a request, and its connection.
func (w *world) loseRequest(q *request, moment string) {
	l := q.link
	w.noteRequest(q, true)
	w.instant(faults.LoseRequest, l.actor.name, l.server.index, moment)
	w.cutLink(l)
}

// loseReply drops a reply, and its connection.
func (w *world) loseReply(r *reply, moment string) {
	l := r.link
	w.noteReply(r, true)
	w.instant(faults.LoseReply, l.actor.name, l.server.index, moment)
	w.cutLink(l)
}

// delayRequest holds the oldest request of a link back.
func (w *world) delayRequest(l *link, e extent, moment string) {
	ifAny(l.requests, moment, func(q *request, m string) { w.holdRequest(q, e, m) })
}

func (w *world) holdRequest(q *request, e extent, moment string) {
	q.kept = true
	end := w.open(faults.DelayRequest, q.link.actor.name, q.link.server.index, moment)
	w.lasting(e, func() { q.kept = false; end() })
}

// delayReply holds the oldest reply of a link back.
func (w *world) delayReply(l *link, e extent, moment string) {
	ifAny(l.replies, moment, func(r *reply, m string) { w.holdReply(r, e, m) })
}

func (w *world) holdReply(r *reply, e extent, moment string) {
	r.kept = true
	end := w.open(faults.DelayReply, r.link.actor.name, r.link.server.index, moment)
	w.lasting(e, func() { r.kept = false; end() })
}

// sever lets nothing pass between clients and nodes; a nil actor means every client, a nil node every node.
func (w *world) sever(fault string, a *actor, n *node, e extent, moment string) {
	var keys []cutKey
	for _, other := range w.actors {
		for _, server := range w.nodes {
			if (a == nil || a == other) && (n == nil || n == server) && !w.cut[cutKey{other.index, server.index}] {
				keys = append(keys, cutKey{other.index, server.index})
			}
		}
	}
	for _, k := range keys {
		w.cut[k] = true
	}
	client, node := "", -1
	if a != nil {
		client = a.name
	}
	if n != nil {
		node = n.index
	}
	end := w.open(fault, client, node, moment)
	w.lasting(e, func() {
		end()
		for _, k := range keys {
			delete(w.cut, k)
		}
		close(w.healed)
		w.healed = make(chan struct{})
	})
}

// killServer kills a node; after d it is started again with what its persistence kept. d 0 means never.
func (w *world) killServer(n *node, d time.Duration, moment string) {
	if n.down {
		return
	}
	kept := w.saved(n)
	n.down, n.still = true, false
	w.dropLinks(n)
	end := w.open(faults.KillServer, "", n.index, moment)
	w.lasting(extent{d: d}, func() {
		end()
		n.down = false
		clear(n.scripts)
		n.load(kept, time.Now())
	})
}

// dropLinks ends every connection of a node. What it had sent is lost with it.
func (w *world) dropLinks(n *node) {
	var links []*link
	for _, l := range w.links {
		if l.server == n && l.lost == nil {
			l.requests = nil
			links = append(links, l)
		}
	}
	w.inTurn(links, func(l *link) { l.breakOff(errGone) })
}

// pauseServer stops a node for d.
func (w *world) pauseServer(n *node, d time.Duration, moment string) {
	n.still = true
	end := w.open(faults.PauseServer, "", n.index, moment)
	w.lasting(extent{d: d}, func() { end(); n.still = false; w.active() })
}

// failover kills the primary and makes the replica, with the writes that reached it, the primary.
func (w *world) failover(moment string) {
	if w.program.Topology != impls.Replicated || w.pair.stopped {
		return
	}
	replica := w.promote()
	w.instant(faults.Failover, "", 0, moment)
	w.windows[len(w.windows)-1].Replica = replica
}

// promote tells what the replica had of the lock.
func (w *world) promote() (replica string) {
	old := w.nodes[w.primary]
	if lock := old.copy(time.Now()); len(lock.entries) > 0 {
		replica = history.ReplicaHad(lock.holdsAs(w.nodes[1-w.primary].copy(time.Now())))
	}
	old.down = true
	w.dropLinks(old)
	w.primary = 1 - w.primary
	w.pair.stopped, w.pair.stream = true, nil
	clear(w.nodes[w.primary].scripts)
	return replica
}

// failoverAfter ends the replication of the pair now, and kills the primary when the fault is over: how much the new primary has not got is
// what happens in between.
func (w *world) failoverAfter(e extent, moment string) {
	if e.d == 0 && e.ready == nil || w.program.Topology != impls.Replicated || w.pair.stopped {
		w.failover(moment)
		return
	}
	w.pair.cut = true
	i, end := len(w.windows), w.open(faults.Failover, "", 0, moment)
	w.lasting(e, func() { w.windows[i].Replica = w.promote(); end() })
}

// jumpClock moves a node's clock for d, or for ever.
func (w *world) jumpClock(n *node, by, d time.Duration, moment string) {
	n.jump(time.Now(), by)
	if d == 0 {
		w.instant(faults.JumpClock, "", n.index, moment)
		return
	}
	end := w.open(faults.JumpClock, "", n.index, moment)
	w.lasting(extent{d: d}, func() { end(); n.setRight(time.Now()) })
}

// driftClock lets a node's clock run at another rate from now on, for d or for ever.
func (w *world) driftClock(n *node, rate float64, d time.Duration, moment string) {
	n.setRate(time.Now(), rate)
	end := w.open(faults.DriftClock, "", n.index, moment)
	w.lasting(extent{d: d}, func() { end(); n.setRight(time.Now()) })
}

// flushScripts lets nodes forget their scripts.
func (w *world) flushScripts(nodes []*node, moment string) {
	for _, n := range nodes {
		clear(n.scripts)
	}
	w.instant(faults.FlushScripts, "", numberOf(nodes), moment)
}

// loseKeys takes the lock's keys from those of the nodes that take writes: an operator deletes them, or a node evicts them because its
// memory is full.
func (w *world) loseKeys(fault string, nodes []*node, moment string) {
	for _, n := range nodes {
		if n.down || w.program.Topology == impls.Replicated && n != w.serverAt(0) {
			continue
		}
		n.tick(time.Now())
		db := n.redis.DB(0)
		for _, key := range db.Keys() {
			db.Del(key)
		}
		w.written(n)
	}
	w.instant(fault, "", numberOf(nodes), moment)
}

// numberOf is the place of a single node, -1 for several.
func numberOf(nodes []*node) int {
	if len(nodes) == 1 {
		return nodes[0].index
	}
	return -1
}

// cutPubSub cuts every connection that subscribes.
func (w *world) cutPubSub(moment string) {
	w.inTurn(slices.DeleteFunc(slices.Clone(w.links), func(l *link) bool { return !l.server.subs.has(l) }), w.cutLink)
	w.instant(faults.CutPubSub, "", -1, moment)
}

// slowNetwork delays every request and reply by d from now on, for as long as it lasts.
func (w *world) slowNetwork(by, d time.Duration, moment string) {
	w.slow += by
	end := w.open(faults.SlowNetwork, "", -1, moment)
	w.lasting(extent{d: d}, func() { end(); w.slow -= by })
}

// lockNodes are the nodes of the lock, without the guarded store's.
func (w *world) lockNodes() []*node { return w.nodes[:w.storeIndex()] }
