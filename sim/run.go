package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// Outcome is the result of one schedule.
type Outcome struct {
	history.Recorded // a caller that keeps its Scripts copies them
	Windows          []history.Window
	Store            map[string]checker.StoreEnds // the guarded store before and after, by key
	Steps            int                          // events that the scheduler released
	Virtual          time.Duration                // duration in virtual time
	Waited           time.Duration                // of that, what the strategy let pass while messages were on their way
	Hash             uint64                       // of the trace
	Trace            []string                     // if requested
	Schedule         faults.Schedule              // if requested
	tape             []deviation
	Missed           int      // choices of a tape that were not possible
	Pruned           bool     // abandoned early: its state was known
	Stuck            []string // clients that had not ended at the horizon
	Crash            string   // a panic of a client, or clients that never end, with the stack
	Left             string   // goroutines that the lock left behind for ever

	Lacking      string   // what the lock's connections requested and the simulator lacks, such as CLIENT TRACKING
	Unexplorable bool     // the lock holds a mutex during a request, as Crash says: not a finding, but it ends the search
	Loop         []string // what a client repeats without end: its name, and commands
	Errors       []string // of the workloads, by client, except for placed crashes
}

// host keeps what outlives a schedule: the nodes.
type host struct {
	sent       int    // commands in the last schedule: about as many as in the next
	again      func() // called when a schedule is repeated
	nodes      []*node
	known      Catalogue
	scripts    map[string]string // names of scripts by digest
	sources    map[string]string // sources of the scripts that clients of any schedule sent, by digest
	echo       func(Choice)      // called with every choice that is not the default, as it is made; may be nil
	reportSlow func(string)      // called with the state of a schedule that takes long
}

// newHost returns a host whose programs name variants of a catalogue; nil means none.
func newHost(known Catalogue) *host {
	known = cmp.Or[Catalogue](known, empty{})
	return &host{known: known, scripts: workloads.NameScripts(known.ScriptNames()), sources: map[string]string{}, reportSlow: func(string) {}, again: func() {}}
}

// runner runs one schedule of a program: the host in the simulator, or a world outside.
type runner interface {
	run(p Program, s chooser, b Bounds, keepTrace bool) (Outcome, error)
	catalogue() Catalogue
}

var _ runner = (*host)(nil)

func (h *host) catalogue() Catalogue { return h.known }

func (h *host) close() {
	for _, n := range h.nodes {
		n.close()
	}
}

// nodesFor returns n nodes. It must be called outside bubbles.
func (h *host) nodesFor(n int) ([]*node, error) {
	for len(h.nodes) < n {
		one, err := newNode(len(h.nodes))
		if err != nil {
			return nil, err
		}
		h.nodes = append(h.nodes, one)
	}
	return h.nodes[:n], nil
}

func (h *host) run(p Program, s chooser, b Bounds, keepTrace bool) (out Outcome, err error) {
	p, err = p.resolve(h.known)
	if err != nil {
		return Outcome{}, err
	}
	w, err := h.newWorld(p, s, b)
	if err != nil {
		return Outcome{}, err
	}
	w.echo, w.trace.keep, w.expected = h.echo, keepTrace, h.sent
	if !w.run(h.reportSlow) {
		h.nodes = nil // they are the abandoned bubble's
		out = w.outcome()
		if out.Unexplorable {
			return out, nil
		}
		return out, h.lookForTimers(p, b, &out)
	}
	out = w.outcome()
	out.Store = w.audit()
	h.sent = len(out.Commands)
	return out, nil
}

// newWorld must be called outside bubbles.
func (h *host) newWorld(p Program, s chooser, b Bounds) (*world, error) {
	nodes, err := h.nodesFor(nodesOf(p) + 1)
	return &world{program: p, strategy: s, bounds: b.withDefaults(p), nodes: nodes, names: h.scripts, sources: h.sources, trace: trace{hash: hashStart}}, err
}

// begin sets up the world; it runs inside the bubble, to which its channels must belong.
func (w *world) begin() {
	p := w.program
	w.start = time.Now()
	w.activity, w.sooner, w.stop = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	w.timer = time.NewTimer(0)
	w.timer.Stop()
	w.cut, w.past = map[cutKey]bool{}, map[uint64]*past{}
	w.budget = w.bounds.MaxFaults
	for i, n := range w.nodes {
		n.index = i
		n.reset(w.start)
		n.lua.random.seed(int32(p.Seed) + int32(i))
	}
	if p.Topology == impls.Cluster {
		join(w.lockNodes())
	}
	for i := range p.Nodes {
		w.addrs = append(w.addrs, nodeAddr(i))
	}
	for i := range p.Clients {
		w.clients = append(w.clients, &client{world: w, index: i, name: "c" + strconv.Itoa(i+1), dead: make(chan struct{}), messages: map[int]int{},
			ops: make([]history.Operation, 0, usualOps), commands: make([]history.Command, 0, w.expected/p.Clients)})
	}
	if p.Variant.Traits.OwnRandom {
		for i, c := range w.clients {
			c.tokens = newTokens(workloads.ClientSeed(p.Seed, i))
		}
	}
	if p.Length > 0 {
		w.after(p.Length, w.lastRound)
	}
	w.director = w.newDirector()
	w.director.Start(context.Background())
	for i, c := range w.clients {
		c.standing = w.director.Standing(i + 1)
	}
	if err := p.Workload.Prepare(context.Background(), directStore{w.nodes[w.storeIndex()]}, w.program.Config); err != nil {
		w.out.Crash = "prepare the guarded store: " + err.Error()
	}
}

func (w *world) lastRound() {
	if !w.lastRounds {
		close(w.stop)
	}
	w.lastRounds = true
}

const usualOps = 16

// runGuarded runs a client and turns a panic of its goroutine into an outcome.
func (c *client) runGuarded(ctx context.Context) {
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

// end stops what still runs: contexts end, connections break, clocks report that the client is dead.
func (w *world) end(cancel context.CancelFunc, ended <-chan struct{}) {
	w.mu.Lock()
	w.out.Virtual = w.now()
	for _, c := range w.clients {
		if !c.done {
			w.out.Stuck = append(w.out.Stuck, c.name)
			c.abort()
		}
	}
	w.traceOps()
	for _, c := range w.clients {
		c.recordClosed = true
	}
	w.mu.Unlock()
	cancel()
	if !w.pass(patience, ended) {
		w.out.Crash = "clients do not end when their contexts, clocks and connections do"
	}
	w.settleBackground()
}

// settleBackground waits for background goroutines of clients that have ended, such as a dial that waits for its deadline.
func (w *world) settleBackground() {
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

// closeRecord records the client's pending operations as unfinished, and closes its record.
func (c *client) closeRecord(why string) {
	for _, op := range slices.Backward(c.open) {
		op.Return = c.world.timeline()
		if op.Op != history.Use {
			op.Outcome, op.Err = history.Unknown, why
		}
		c.record(op)
	}
	c.open = nil
	c.recordClosed = true
}

func (c *client) abort() {
	c.closeRecord("")
	c.die()
	for _, h := range c.moments {
		if h.pass != nil {
			close(h.pass)
		}
	}
	c.moments = nil
}

func (w *world) outcome() Outcome {
	p, out := w.program, w.out
	out.Header, out.Scripts, out.Windows = p.Variant.Header(int64(p.Config.Lease)), w.sources, w.director.Windows()
	out.Steps, out.Hash, out.Trace = w.step, w.trace.hash, w.trace.lines
	out.Header.Permits, out.Header.Epoch = p.Permits, w.start.UnixNano()
	if f, ok := w.strategy.(*follow); ok {
		out.Missed = f.missed + len(f.choices)
	}
	for _, n := range w.nodes {
		out.Lacking = cmp.Or(out.Lacking, n.lacking)
	}
	for _, c := range w.clients {
		out.Ops = append(out.Ops, c.ops...)
		if c.err != nil && !errors.Is(c.err, impls.ErrCrashed) {
			out.Errors = append(out.Errors, c.name+": "+c.err.Error())
		}
	}
	for i := range out.Ops {
		out.Ops[i].ID = uint64(i) + 1
	}
	out.Commands = w.commands()
	history.LinkCommands(out.Ops, out.Commands)
	return out
}

// commands merges the clients' commands by the time they were sent, those of one instant by client, node and content.
func (w *world) commands() []history.Command {
	all := make([]history.Command, 0, w.sent)
	for _, c := range w.clients {
		all = append(all, c.commands...)
	}
	slices.SortStableFunc(all, func(a, b history.Command) int {
		if a.Sent != b.Sent {
			return cmp.Compare(a.Sent, b.Sent)
		}
		return cmp.Or(cmp.Compare(len(a.Client), len(b.Client)), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Name, b.Name), slices.Compare(a.Args, b.Args))
	})
	return all
}

func (w *world) audit() map[string]checker.StoreEnds {
	ends := map[string]checker.StoreEnds{}
	for key, initial := range w.program.Workload.Guarded(w.program.Config) {
		if final, err := (directStore{w.nodes[w.storeIndex()]}).Read(context.Background(), key, 0); err == nil {
			ends[key] = checker.StoreEnds{Initial: &initial, Final: &final}
		}
	}
	return ends
}

// directStore accesses the guarded store without the network, for filling and auditing it.
type directStore struct{ node *node }

func (s directStore) name(key string) string {
	return workloads.StorePrefix(keyPrefix) + "{" + key + "}"
}

// Read returns the value of a key; 0 when there is none.
func (s directStore) Read(_ context.Context, key string, _ uint64) (int64, error) {
	text, err := s.node.redis.DB(0).Get(s.name(key))
	if err != nil {
		return 0, nil //nolint:nilerr // a missing key is the value 0
	}
	return strconv.ParseInt(text, 10, 64)
}

func (s directStore) Write(_ context.Context, key string, value int64, _ uint64) error {
	return s.node.redis.DB(0).Set(s.name(key), strconv.FormatInt(value, 10))
}
