package sim

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/workloads"
)

// runBubble starts the clients and drives the world to its end. It is the body of the bubble.
func (w *world) runBubble() {
	w.begin()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running sync.WaitGroup
	for _, c := range w.clients {
		running.Go(func() { c.runGuarded(ctx) })
		// one after the other, so that the order in which clients connect does not depend on the
		// runtime
		synctest.Wait()
	}
	w.drive()
	w.pass(0, nil)
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	w.end(cancel, ended)
}

// begin sets up the world; it runs inside the bubble, to which its channels must belong.
func (w *world) begin() {
	w.virtual.begin()
	w.still, w.expire, w.stop = w.bounds.Instant, w.expireReads, make(chan struct{})
	w.cut, w.past = map[cutKey]bool{}, map[uint64]*past{}
	w.budget = w.bounds.MaxFaults
	p := w.program
	for i, n := range w.nodes {
		n.index = i
		n.reset(w.start)
		n.Seed(int32(p.Seed) + int32(i))
	}
	w.giveRoles(w.lockNodes(), p.Topology.Primaries(w.storeIndex()))
	if p.Topology == impls.Cluster {
		w.join()
	}
	for i := range p.Clients {
		c := &client{world: w, index: i, name: workloads.ClientName(i), dead: make(chan struct{}), messages: map[int]int{},
			ops: make([]history.Operation, 0, usualOps), commands: make([]history.Command, 0, w.expected/p.Clients)}
		if p.Variant.Traits.OwnRandom {
			c.tokens = newTokens(workloads.ClientSeed(p.Seed, i))
		}
		w.clients = append(w.clients, c)
	}
	if p.Length > 0 {
		w.after(p.Length, w.lastRound)
	}
	w.director = w.newDirector()
	w.director.Start(context.Background())
	for i, c := range w.clients {
		c.standing = w.director.Standing(i + 1)
	}
	if err := p.Workload.Prepare(context.Background(), directStore{w.nodes[w.storeIndex()]}); err != nil {
		w.out.Crash = "prepare the guarded store: " + err.Error()
	}
}

// usualOps is the number of operations for which a client's record has room at first.
const usualOps = 16

// runGuarded runs a client and turns a panic of its goroutine into an outcome.
func (c *client) runGuarded(ctx context.Context) {
	// what it starts inherits them
	pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels(labelWorld, c.world.label(), labelClient, c.name)))
	defer func() {
		if r := recover(); r != nil {
			c.world.mu.Lock()
			defer c.world.mu.Unlock()
			c.done = true
			c.world.out.Crash = fmt.Sprintf("client %s: panic: %v\n%s", c.name, r, debug.Stack())
			c.world.wakeDriver()
		}
	}()
	c.run(ctx)
}

// patience is the virtual time that clients get to finish when the world ends before they do.
const patience = time.Hour

// end stops what still runs: contexts end, connections break, clocks report that the client is
// dead.
func (w *world) end(cancel context.CancelFunc, ended <-chan struct{}) {
	w.mu.Lock()
	w.out.Virtual = w.now()
	for _, c := range w.clients {
		if !c.done {
			w.out.Stuck = append(w.out.Stuck, c.name)
			c.closeRecord("")
			c.die()
			for _, h := range c.moments {
				if h.pass != nil {
					close(h.pass)
				}
			}
			c.moments = nil
		}
	}
	w.traceOps()
	for _, n := range w.lockNodes() {
		w.endLeases(n)
	}
	for _, c := range w.clients {
		c.recordClosed = true
	}
	w.mu.Unlock()
	cancel()
	if !w.pass(patience, ended) {
		w.out.Crash = "clients do not end when their contexts, clocks and connections do"
	}
	// what clients that have ended left in the background, such as a dial that waits for its
	// deadline
	w.mu.Lock()
	w.gone = true
	for _, d := range w.dials {
		close(d.turn)
	}
	w.dials = nil
	w.mu.Unlock()
	w.pass(settling, nil)
}

// settling exceeds every default time-out of a Redis client.
const settling = time.Minute

// The labels of goroutines that clients start.
const (
	labelWorld  = "lockbench-world"
	labelClient = "lockbench-client"
)

// label tells the goroutines of one world from those that an earlier one has left behind.
func (w *world) label() string { return fmt.Sprintf("%p/%d", w, w.program.Seed) }

// leftBehind says which clients' goroutines stay for ever, and where they wait; "" if only those of
// clients that crashed do: their process is gone. said is what synctest said, for goroutines that
// are no client's.
func (w *world) leftBehind(said string) string {
	var out []string
	crashed := false
	for _, c := range w.clients {
		stacks := upstream.Labelled(labelWorld, w.label(), labelClient, c.name)
		switch {
		case len(stacks) == 0:
		case c.crashed:
			crashed = true
		default:
			var names []string
			for _, f := range w.director.Windows() {
				if f.Client == c.name {
					names = append(names, f.Fault)
				}
			}
			its := "no fault was its own"
			if len(names) > 0 {
				its = "its faults: " + strings.Join(names, ", ")
			}
			out = append(out, fmt.Sprintf("%s has closed its lock (%s), and this goes on:\n%s", c.name, its, stacks[0]))
		}
	}
	if len(out) == 0 && !crashed {
		return said
	}
	return strings.Join(out, "\n")
}
