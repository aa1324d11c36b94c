// Package sim runs real lock code in a deterministic world: virtual time, a simulated network whose every request and reply is released by a
// scheduler, and Redis nodes in memory whose clocks, data and failures the scheduler controls.
//
// One schedule is one run of a [Program] in its own testing/synctest bubble. Clients are goroutines that run a workload with the unmodified lock
// code, third-party libraries included; they dial connections of this package instead of sockets. The driver waits until every goroutine of the
// bubble is blocked (synctest.Wait), lists what could happen next in an order that depends only on names and contents, lets a strategy choose, and
// performs exactly that. The choices are the [Tape]; the same program and tape give the same trace, byte for byte. Decisions of the runtime do not
// affect it: what several goroutines do at one instant is sorted by names and contents, goroutines that are due at once wake one after the other,
// idle connections of a pool are interchangeable, requests sent together arrive together, and what a library draws from the process's random source
// is replaced by names that follow from the seed.
//
// A Program and a strategy give an [Outcome] (history, commands, fault windows, tape, trace), which package checker judges. Not every violation is
// a finding: those of a client that outlived its lease, or whose own messages were delayed, are excused. [Explore] repeats this over many schedules
// in worker processes, so that a crash, a deadlock or an endless loop of the lock under test is a finding and does not end lockbench;
// [Simulator.Shrink] minimizes a failing tape; [Simulator.Replay] runs a tape again.
//
// A bubble settles only when nobody in it waits for a mutex. A lock that deadlocks on one, or holds one while it waits for time or the network and
// another of its goroutines needs it, would stop a schedule for ever; such a schedule is abandoned. A deadlock is a finding that says who waits
// where. If another goroutine waits for time or the network, and may hold the mutex, the lock cannot be explored, and the search is
// inconclusive. So what libraries do under a mutex must end by itself: a dial under a context that has ended fails at once.
//
// It reports no latencies, because time is virtual. It is not Redis: the nodes are miniredis; this package adds Lua, publish and subscribe,
// persistence, replication and cluster slots, and other tests compare every script with a real server.
package sim

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// tick is the duration of one event, unless Bounds.Instant sets none. It separates events in the record; no lock depends on a microsecond.
const tick = time.Microsecond

// world is one run: nodes, clients, the network between them, and the driver that performs one event at a time.
type world struct {
	program  Program
	strategy chooser
	bounds   Bounds
	nodes    []*node // the lock's, both of a replicated pair; then the guarded store's
	primary  int     // of a replicated pair: where address 0 leads
	addrs    []string
	start    time.Time
	stop     chan struct{}          // closed when no new round may begin
	bubble   atomic.Pointer[string] // the runtime's number of the bubble; nil until known
	turns    atomic.Uint64          // of the driver, to see from outside that it goes on

	mu          sync.Mutex // guards the fields below, clients and conns; the driver holds it while it works
	clients     []*client
	conns       []*conn          // in order of client, node, number
	past        map[uint64]*past // of the connections, by place
	step        int
	activity    chan struct{} // cap 1: signals the driver
	timer       *time.Timer   // the driver's own; set whenever it waits
	ahead       atomic.Int64  // nanoseconds that have passed for the driver and not yet in the bubble; see drive
	sleeps      []time.Time   // when the clients' sleeps end
	expiry      time.Time     // no waiting reader gives up earlier; zero if there is none
	wakes       time.Time     // when the driver, which waits, goes on by itself; zero if it does not wait
	sooner      chan struct{} // cap 1: signals it that a reader gives up earlier
	timers      []timer       // scheduled calls by the driver, soonest first
	cut         map[cutKey]bool
	dials       []waitingDial // that wait for the end of a cut
	director    *faults.Director
	budget      int // faults that the strategy may still place
	replication replication
	trace       trace
	out         Outcome // so far
	waits       int
	sent        int        // commands, by all clients
	expected    int        // about how many they will be
	fresh       []*request // sent, not yet seen by the driver
	slow        slowness   // of the network
	owner       string     // owner id of all clients; "" if each has its own

	noSubscribers int      // number of faults in force that forbid subscribing
	possible      []option // reused by options
	placeable     []option // reused by faults
	content       []byte   // reused for the content of requests
	names         map[string]string
	sources       map[string]string // of scripts that clients sent, by digest
	gone          bool              // all clients have ended
	lastRounds    bool              // stop is closed
	echo          func(Choice)
	faultLog      uint64       // hash of the faults so far, see state
	stamp         atomic.Int64 // the least time that the timeline may show, when events take no time
}

type cutKey struct{ client, node int }

// timer is a call scheduled for an instant. Of two at the same instant the older is first.
type timer struct {
	at time.Time
	do func()
}

func (w *world) storeIndex() int { return len(w.nodes) - 1 }

func (w *world) serverAt(address int) *node {
	if address == 0 && w.program.Topology == impls.Replicated {
		return w.nodes[w.primary]
	}
	return w.nodes[address]
}

// clock returns the driver's time: the bubble's and what has passed since.
func (w *world) clock() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) now() time.Duration { return w.clock().Sub(w.start) }

// timeline returns nanoseconds since the world began. If events take no time, each is a nanosecond later, so that the record has an order.
func (w *world) timeline() int64 { return max(int64(w.now()), w.stamp.Load()) }

// spendTick advances time by one event. Timers due by then run first.
func (w *world) spendTick() {
	if w.bounds.Instant {
		w.stamp.Store(w.timeline() + 1)
		w.timer.Reset(0)
		<-w.timer.C
		synctest.Wait()
		return
	}
	w.pass(tick, nil)
}

// pass lets time pass until d is over, or until the channel yields something, and reports whether it did. Goroutines with timers due by then run
// first; readers whose deadline comes are woken.
func (w *world) pass(d time.Duration, until <-chan struct{}) (yielded bool) {
	end := w.clock().Add(d)
	w.ahead.Store(0)
	for {
		if w.sleepUntil(end, until) {
			return true
		}
		synctest.Wait()
		w.endReads()
		if !time.Now().Before(end) {
			return false
		}
	}
}

// sleepUntil waits for an instant, at most until the expiry, or for the channel, and reports whether that yielded something.
func (w *world) sleepUntil(t time.Time, until <-chan struct{}) (yielded bool) {
	w.mu.Lock()
	if !w.expiry.IsZero() && w.expiry.Before(t) {
		t = w.expiry
	}
	d := time.Until(t)
	if d <= tick && until == nil {
		w.mu.Unlock()
		time.Sleep(d) // takes less time than a timer
		return false
	}
	w.wakes = t
	w.mu.Unlock()
	w.timer.Reset(d)
	select {
	case <-until:
		yielded = true
	case <-w.sooner:
	case <-w.timer.C:
	}
	w.timer.Stop()
	w.mu.Lock()
	w.wakes = time.Time{}
	clearSignal(w.sooner)
	w.mu.Unlock()
	return yielded
}

// endReads wakes the readers whose deadline has come.
func (w *world) endReads() {
	now := time.Now()
	w.mu.Lock()
	if w.expiry.IsZero() || now.Before(w.expiry) {
		w.mu.Unlock()
		return
	}
	w.expiry = time.Time{}
	for _, cn := range w.conns {
		if !cn.waiting || cn.expires.IsZero() {
			continue
		}
		if cn.expires.After(now) {
			w.expect(cn.expires)
			continue
		}
		cn.wake()
	}
	w.mu.Unlock()
	synctest.Wait()
}

// expect records that a reader gives up at an instant.
func (w *world) expect(at time.Time) {
	if !w.expiry.IsZero() && !at.Before(w.expiry) {
		return
	}
	w.expiry = at
	if at.Before(w.wakes) {
		signal(w.sooner)
	}
}

// beginSleep records that a goroutine of the client sleeps for about d, and returns until when.
func (c *client) beginSleep(d time.Duration) (end time.Time) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for end = time.Now().Add(c.ownInstant(d)); slices.Contains(w.sleeps, end); {
		end = end.Add(sleepers)
	}
	c.asleep++
	w.sleeps = append(w.sleeps, end)
	return end
}

// endSleep is called, under w.mu, when that sleep is over.
func (c *client) endSleep(end time.Time) {
	c.asleep--
	i := slices.Index(c.world.sleeps, end)
	c.world.sleeps = slices.Delete(c.world.sleeps, i, i+1)
}

func (w *world) wakeDriver() { signal(w.activity) }

// signal makes sure that a channel of capacity 1 holds a signal.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// clearSignal drops a signal that came before.
func clearSignal(from <-chan struct{}) {
	select {
	case <-from:
	default:
	}
}

func (w *world) enqueue(q *request) {
	c := q.conn.client
	c.sent++
	q.op, q.sent, q.ready = w.director.Plan().Operation(c.index+1, q.conn.target() < 0), w.timeline(), w.step
	q.command = len(c.commands)
	c.commands = append(c.commands, commandOf(q))
	q.conn.requests = append(q.conn.requests, q)
	q.withheld = c.paused
	q.held = w.onItsWay(sizeOf(q.args), &q.conn.sentUntil)
	w.fresh = append(w.fresh, q)
	w.wakeDriver()
}

// enqueueReply makes a reply or a message an event. The driver calls it.
func (w *world) enqueueReply(r *reply) {
	r.ready = w.step
	r.held = w.onItsWay(len(r.bytes), &r.conn.givenUntil)
	r.conn.replies = append(r.conn.replies, r)
}

// after schedules a call by the driver after d.
func (w *world) after(d time.Duration, do func()) {
	t := timer{w.clock().Add(d), do}
	i := len(w.timers)
	for i > 0 && w.timers[i-1].at.After(t.at) {
		i--
	}
	w.timers = slices.Insert(w.timers, i, t)
}

// runBubble starts the clients and drives the world to its end. It is the body of the bubble.
func (w *world) runBubble() {
	w.begin()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running sync.WaitGroup
	for _, c := range w.clients {
		running.Go(func() { c.runGuarded(ctx) })
		synctest.Wait() // one after the other, so that the order in which clients connect does not depend on the runtime
	}
	w.drive()
	w.pass(0, nil)
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	w.end(cancel, ended)
}

// drive performs one event at a time until every client is done. A request that affects only its node wakes no goroutine, so time need not pass for
// it in the bubble before the next event that does.
func (w *world) drive() {
	for alone := false; w.out.Crash == "" && w.out.Loop == nil; {
		w.turns.Add(1)
		if !alone {
			synctest.Wait()
		}
		w.mu.Lock()
		w.settleInstant()
		w.traceOps()
		options := w.options()
		if len(options) == 0 {
			over := w.over()
			w.mu.Unlock()
			if over || !w.waitForActivity() {
				return
			}
			alone = false
			continue
		}
		chosen := w.choose(options)
		w.mu.Unlock()
		if chosen.kind == giveUp {
			w.out.Pruned = true
			return
		}
		if chosen.kind == waitForTime {
			from := w.now()
			w.waitAtMost(w.bounds.MaxDelay)
			w.out.Waited += w.now() - from
			alone = false
			continue
		}
		if alone = w.affectsNodeOnly(chosen); alone {
			w.ahead.Add(int64(tick))
		} else {
			w.spendTick()
		}
		w.mu.Lock()
		w.apply(chosen)
		w.mu.Unlock()
	}
}

// choose lets the strategy choose, and records choices other than the default on the tape. What is on its way when all clients are done arrives by
// default, except in a walk of all schedules: no client sees it, though data may depend on it.
func (w *world) choose(options []option) option {
	usual := oldest(options)
	if w.over() && !w.bounds.Instant || w.step >= w.bounds.MaxSteps {
		return usual
	}
	o := w.strategy.choose(moves{step: w.step, options: options, wait: w.waits < w.bounds.MaxWaits && !w.over(), view: w})
	if o.kind == giveUp {
		return o
	}
	if o.kind != usual.kind || o.conn != usual.conn {
		c := deviation{usual: usual.event(), chosen: o.event()}
		w.out.tape = append(w.out.tape, c)
		if w.echo != nil {
			w.echo(c.choice())
		}
	}
	switch o.kind {
	case waitForTime:
		w.waits++
		w.event(o.kind, nil, nil, func() string { return "time passes" })
		w.step++
	case placeFault:
		w.budget--
	}
	return o
}

// traceHash returns the hash of the trace, never 0.
func (w *world) traceHash() uint64 { return w.trace.hash | 1 }

func (w *world) over() bool {
	return !slices.ContainsFunc(w.clients, func(c *client) bool { return !c.done })
}

// waitForActivity lets time pass until something happens; it returns false if the horizon is reached first.
func (w *world) waitForActivity() bool {
	left := w.program.Horizon - w.now()
	if left <= 0 {
		return false
	}
	w.waitAtMost(left)
	return true
}

// waitAtMost lets time pass until something happens, a timer is due, or d is over.
func (w *world) waitAtMost(d time.Duration) {
	w.mu.Lock()
	clearSignal(w.activity)
	if len(w.timers) > 0 {
		d = min(d, w.timers[0].at.Sub(w.clock()))
	}
	w.mu.Unlock()
	w.pass(max(d, 0), w.activity)
}

// script returns the digest of the script that a command runs, and its name if known, else the digest again.
func (w *world) script(command, arg string) (digest, name string) {
	if strings.HasPrefix(command, "EVALSHA") {
		digest = strings.ToLower(arg)
	} else {
		digest = w.source(arg)
	}
	return digest, cmp.Or(w.names[digest], digest)
}

// source keeps the source of a script and returns its digest.
func (w *world) source(text string) (digest string) {
	digest = w.nodes[0].lua.digest(text)
	if _, known := w.sources[digest]; !known {
		w.sources[digest] = strings.Clone(text)
	}
	return digest
}

// What goroutines do at one instant comes in the runtime's order. It is sorted by names and contents before it is numbered, traced or hit by a fault.

// settleInstant handles everything that has come up since the last event, until nothing more comes up at the same instant.
func (w *world) settleInstant() {
	for w.runTimers() || w.passMoments() || w.answerHandshakes() || w.admitRequests() {
	}
}

// catchUp lets the time pass in the bubble that has passed for the driver; it reports whether there was any.
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

// reachMoment queues a moment for the driver, and returns the channel to wait on; nil if no fault may be injected there.
func (w *world) reachMoment(c *client, m history.Moment) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.director.Plan().Reach(c.index+1, m)
	if m == history.Entered && !c.recordClosed {
		w.director.Entered(c.index + 1)
	}
	e := faults.Event{Kind: faults.Moment, Client: c.index + 1, Moment: m}
	watched := w.director.Plan().Watches(e)
	if c.recordClosed || !watched && !w.trace.keep {
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

// passMoments applies the faults placed at the moments that clients have reached, client by client, and lets the clients go on.
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

// admitRequests admits the requests that were sent, in order of client, node and content, and applies the faults placed before they leave.
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

// answerHandshakes answers the handshakes of a connection whose turn has come; it reports whether the client received something.
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

func (r *reply) ofHandshake() bool { return r.request != nil && r.request.handshake }

// traceOps numbers the operations recorded since the last event and adds them to the trace, ordered by client, time and content.
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

// inTurn calls do for connections one after the other, and runs goroutines in between: otherwise those of one client would act in any order.
func (w *world) inTurn(conns []*conn, do func(*conn)) {
	slices.SortStableFunc(conns, func(a, b *conn) int {
		return cmp.Or(cmp.Compare(a.client.index, b.client.index), cmp.Compare(a.node, b.node), cmp.Compare(a.last, b.last))
	})
	for _, cn := range conns {
		w.after(0, func() { do(cn) })
	}
	w.wakeDriver()
}

// latest is the greatest lateness of a time-out: a context that ends at that instant comes first, and no two connections of a client time out at once.
const latest = 50 * time.Microsecond

// lateness returns how late a time-out is on a client's connection to a node, given the last request.
func lateness(client, node int, last uint64) time.Duration {
	return 1 + time.Duration(mix(hashStart, uint64(client), uint64(node), last)%uint64(latest))
}
