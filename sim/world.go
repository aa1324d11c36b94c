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
	stop     chan struct{}
	bubble   atomic.Pointer[string] // the runtime's number of the bubble; nil until known
	turns    atomic.Uint64          // of the driver, to see from outside that it goes on

	mu          sync.Mutex // guards the fields below, clients and conns; the driver holds it while it works
	clients     []*client
	conns       []*conn // in order of client, node, number
	step        int
	activity    chan struct{} // cap 1: signals the driver
	timer       *time.Timer   // the driver's own; set whenever it waits
	timers      []timer       // scheduled calls by the driver, soonest first
	cut         map[cutKey]bool
	healed      chan struct{} // closed and replaced when a cut is healed
	director    *faults.Director
	budget      int // faults that the strategy may still place
	replication replication
	trace       trace
	schedule    faults.Schedule
	tape        []deviation
	waits       int
	waited      time.Duration // total time of the waits
	sent        int           // commands, by all clients
	fresh       []*request    // sent, not yet seen by the driver
	slow        slowness      // of the network
	owner       string        // owner id of all clients; "" if each has its own

	noSubscribers int      // number of faults in force that forbid subscribing
	possible      []option // reused by options
	placeable     []option // reused by faults
	content       []byte   // reused for the content of requests
	names         map[string]string
	sources       map[string]string // of scripts that clients sent, by digest
	stuck         []string
	crash         string
	loop          []string // commands that a client repeats while hardly any time passes
	unexplorable  bool     // crash says why
	left          string
	gone          bool // all clients have ended
	echo          func(Choice)
	pruned        bool
	virtual       time.Duration
	faultLog      uint64       // hash of the faults so far, see state
	stamp         atomic.Int64 // the least time that the timeline may show, when events take no time
}

type cutKey struct{ client, node int }

// timer is a call scheduled for an instant. Of two at the same instant the older is first.
type timer struct {
	at time.Time
	do func()
}

// storeIndex is the index of the node that keeps the guarded store.
func (w *world) storeIndex() int { return len(w.nodes) - 1 }

// serverAt returns the node to which an address leads now.
func (w *world) serverAt(address int) *node {
	if address == 0 && w.program.Topology == impls.Replicated {
		return w.nodes[w.primary]
	}
	return w.nodes[address]
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// timeline returns nanoseconds since the world began. If events take no time, each is a nanosecond after the one before, so that the record has an
// order.
func (w *world) timeline() int64 { return max(int64(w.now()), w.stamp.Load()) }

// spendTick advances time by one event. Timers due by then run first.
func (w *world) spendTick() {
	if w.bounds.Instant {
		w.stamp.Store(w.timeline() + 1)
		w.timer.Reset(0)
		<-w.timer.C
	} else {
		time.Sleep(tick)
	}
	synctest.Wait()
}

// wakeDriver wakes the driver.
func (w *world) wakeDriver() {
	select {
	case w.activity <- struct{}{}:
	default:
	}
}

// addConn inserts a connection in the order of names.
func (w *world) addConn(cn *conn) {
	for _, o := range w.conns {
		if o.client == cn.client && o.node == cn.node {
			cn.seq++
		}
	}
	cn.number = uint64(cn.client.index)<<32 | uint64(cn.node)<<16 | uint64(cn.seq)
	i, _ := slices.BinarySearchFunc(w.conns, cn, func(a, b *conn) int { return int(int64(a.number) - int64(b.number)) })
	w.conns = slices.Insert(w.conns, i, cn)
	cn.client.dialled++
}

// enqueue makes a request an event.
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

// enqueueReply makes a reply or a message an event.
func (w *world) enqueueReply(r *reply) {
	r.ready = w.step
	r.held = w.onItsWay(len(r.bytes), &r.conn.givenUntil)
	r.conn.replies = append(r.conn.replies, r)
	w.wakeDriver()
}

// after schedules a call by the driver after d.
func (w *world) after(d time.Duration, do func()) {
	t := timer{time.Now().Add(d), do}
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
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	w.end(cancel, ended)
}

// drive performs one event at a time until every client is done.
func (w *world) drive() {
	for w.crash == "" && w.loop == nil {
		w.turns.Add(1)
		synctest.Wait()
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
			continue
		}
		chosen := w.choose(options)
		w.mu.Unlock()
		if chosen.kind == giveUp {
			w.pruned = true
			return
		}
		if chosen.kind == waitForTime {
			from := w.now()
			w.waitAtMost(w.bounds.MaxDelay)
			w.waited += w.now() - from
			continue
		}
		w.spendTick()
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
		w.tape = append(w.tape, c)
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

// faults lists the faults that may strike now; none if the strategy has placed as many as it may.
func (w *world) faults() []option {
	if w.budget == 0 || w.over() {
		return nil
	}
	return w.placeableFaults()
}

// over reports whether all clients are done.
func (w *world) over() bool {
	for _, c := range w.clients {
		if !c.done {
			return false
		}
	}
	return true
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
	select {
	case <-w.activity: // drop an old signal
	default:
	}
	if len(w.timers) > 0 {
		d = min(d, time.Until(w.timers[0].at))
	}
	w.mu.Unlock()
	w.timer.Reset(max(d, 0))
	defer w.timer.Stop()
	select {
	case <-w.activity:
	case <-w.timer.C:
	}
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
