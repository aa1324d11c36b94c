// Package sim is the deterministic world: real lock code, virtual time, a simulated network whose every request and reply
// is released by a scheduler, and Redis nodes in memory whose clocks, data and lives the scheduler owns.
//
// One schedule is one run of a [Program] in a testing/synctest bubble of its own. Clients are goroutines that run a workload over
// the shipped lock code, third-party libraries included; they dial conns of this package instead of sockets. The driver
// waits until every goroutine of the bubble is blocked (synctest.Wait), lists what could happen next in an order that
// depends on names alone, asks a [Strategy] to choose, and lets exactly that happen. What was chosen is the [Tape]; the
// same program and tape give the same trace, byte for byte. What the runtime decides is kept out of it: of several goroutines that run at one
// instant what they did is sorted by names and contents before it counts, several that are to wake do so one after the other, idle connections
// of a pool are all one, requests that were sent together arrive together, and what a library draws from the process's random source is
// called by names that follow from the seed.
//
// Data flows: Program and Strategy in, [Outcome] (history, commands, fault windows, tape, trace) out; the package checker
// judges the outcome. Not every violation is a finding: what befell a client that outlived its lease, or whose own messages were held up, is
// excused. [Explore] repeats this over many schedules in worker processes, so that a crash, a deadlock or an
// endless loop of the lock under test is a finding and not the end of lockbench; [Shrink] makes a failing tape small;
// [Replay] runs a tape again.
//
// A bubble settles only when nobody in it waits for a mutex. A lock that deadlocks on one, or keeps one while it waits for time or the network and
// another of its goroutines wants it, would stop a schedule for ever; such a schedule is abandoned. A deadlock is a finding that says who waits where; where
// another goroutine of the client waits for time or the network, and may have the mutex, the lock is not explorable, and the search is inconclusive.
// So what libraries do under a mutex must end by itself: a dial under a context that has ended fails at once.
//
// It refuses to report latencies: time here is made up. It is not Redis: the nodes are miniredis with Lua, publish and
// subscribe, persistence, replication and the slots of a cluster added here, and every script is compared with a real server elsewhere.
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

// tick is the time that one event takes, unless Bounds.Instant says none. It keeps events apart in the record; nothing in a lock depends on a microsecond.
const tick = time.Microsecond

// world is one run: nodes, clients, the network between them, and the driver that lets one thing happen at a time.
type world struct {
	program  Program
	strategy chooser
	bounds   Bounds
	nodes    []*node // of the lock; of a replicated pair both; behind them the guarded store's
	primary  int     // of a replicated pair: where address 0 leads
	addrs    []string
	start    time.Time
	stop     chan struct{}
	bubble   atomic.Pointer[string] // the number that the runtime gives the bubble; nil before it is known

	mu          sync.Mutex // protects what follows, clients and conns; the driver holds it while it works
	clients     []*client
	conns       []*conn // in order of client, node, number
	step        int
	activity    chan struct{} // cap 1: something happened that the driver must see
	timer       *time.Timer   // the driver's own; set whenever it waits
	timers      []timer       // what the driver will do at an instant, soonest first
	cut         map[cutKey]bool
	healed      chan struct{} // closed and made anew when a cut is healed
	director    *faults.Director
	budget      int // faults that the strategy may still place
	replication replication
	trace       trace
	schedule    faults.Schedule
	tape        []deviation
	waits       int
	waited      time.Duration // in them
	sent        int           // commands, by all clients
	fresh       []*request    // sent, not yet looked at by the driver
	slow        slowness      // of the network
	owner       string        // owner id of all clients; "" when each has its own

	noSubscribers int      // faults that let nobody subscribe
	possible      []option // storage of options
	placeable     []option // storage of strikes
	content       []byte   // storage of what a request says
	names         map[string]string
	sources       map[string]string // of scripts that clients sent, by digest
	stuck         []string
	crash         string
	loop          []string          // commands that a client sends over and over while no time passes
	unexplorable  bool              // crash says why
	renewed       []history.Command // that made a hold last longer though their client had none
	left          string
	gone          bool // all clients have ended
	echo          func(Choice)
	pruned        bool
	virtual       time.Duration
	faultLog      uint64       // hash of the faults so far, see state
	stamp         atomic.Int64 // the least that the timeline shows, when events take no time
}

type cutKey struct{ client, node int }

// timer is something that happens at an instant. Of two at the same instant the older is first.
type timer struct {
	at time.Time
	do func()
}

// storeIndex is the index of the node that keeps the guarded store.
func (w *world) storeIndex() int { return len(w.nodes) - 1 }

// serverAt is the node that an address leads to now.
func (w *world) serverAt(address int) *node {
	if address == 0 && w.program.Topology == impls.Replicated {
		return w.nodes[w.primary]
	}
	return w.nodes[address]
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// timeline is the run's base: nanoseconds since the world began. Where events take no time each is a nanosecond behind the one before, so that the
// record has an order.
func (w *world) timeline() int64 { return max(int64(w.now()), w.stamp.Load()) }

// spendTick is the time that an event takes. Timers that end by then come first.
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

// wakeDriver tells the driver that there is something to see.
func (w *world) wakeDriver() {
	select {
	case w.activity <- struct{}{}:
	default:
	}
}

// addConn puts a connection in its place in the order of names.
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

// enqueue makes a request an event that can happen.
func (w *world) enqueue(q *request) {
	c := q.conn.client
	c.sent++
	q.op, q.sent, q.ready = w.director.Plan().Operation(c.index+1, q.conn.target() < 0), w.timeline(), w.step
	q.idle = w.idle(c)
	q.command = len(c.commands)
	c.commands = append(c.commands, commandOf(q))
	q.conn.requests = append(q.conn.requests, q)
	q.withheld = c.paused
	q.held = w.onItsWay(sizeOf(q.args), &q.conn.sentUntil)
	w.fresh = append(w.fresh, q)
	w.wakeDriver()
}

// enqueueReply makes a reply or a message an event that can happen.
func (w *world) enqueueReply(r *reply) {
	r.ready = w.step
	r.held = w.onItsWay(len(r.bytes), &r.conn.givenUntil)
	r.conn.replies = append(r.conn.replies, r)
	w.wakeDriver()
}

// at arranges for something to happen after d.
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
		synctest.Wait() // one after the other: the order in which clients connect is theirs, not the runtime's
	}
	w.drive()
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	w.end(cancel, ended)
}

// drive lets one thing happen at a time until every client is done.
func (w *world) drive() {
	for w.crash == "" && w.loop == nil {
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

// choose asks the strategy, and keeps on the tape what the default would not have done. What is on its way when all clients are done arrives by
// default, but in a walk of all schedules: nobody is left to see it, though data may depend on it.
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

// traceHash is the hash of the trace, and never 0.
func (w *world) traceHash() uint64 { return w.trace.hash | 1 }

// faults lists what may strike now, nothing when the strategy has placed as many as it may.
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

// waitForActivity lets time pass until somebody does something; false when the horizon is reached first.
func (w *world) waitForActivity() bool {
	left := w.program.Horizon - w.now()
	if left <= 0 {
		return false
	}
	w.waitAtMost(left)
	return true
}

// waitAtMost lets time pass until somebody does something, something was arranged, or d is over.
func (w *world) waitAtMost(d time.Duration) {
	w.mu.Lock()
	select {
	case <-w.activity: // what has been seen already
	default:
	}
	if len(w.timers) > 0 {
		d = min(d, time.Until(w.timers[0].at))
	}
	w.mu.Unlock()
	from := w.now()
	w.timer.Reset(max(d, 0))
	defer w.timer.Stop()
	select {
	case <-w.activity:
	case <-w.timer.C:
	}
	if w.now() > from {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.clients {
			c.commandsSince = 0
		}
	}
}

// script returns the digest of the script that a command runs, and its name when it is known, else the digest again.
func (w *world) script(command, arg string) (digest, name string) {
	if strings.HasPrefix(command, "EVALSHA") {
		digest = strings.ToLower(arg)
	} else {
		digest = w.source(arg)
	}
	return digest, cmp.Or(w.names[digest], digest)
}

// source keeps the source of a script that was sent, and gives its digest.
func (w *world) source(text string) (digest string) {
	digest = w.nodes[0].lua.digest(text)
	if _, known := w.sources[digest]; !known {
		w.sources[digest] = strings.Clone(text)
	}
	return digest
}
