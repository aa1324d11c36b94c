package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// Outcome is what came of one schedule.
type Outcome struct {
	Header   history.Header
	Ops      []history.Operation
	Commands []history.Command
	Scripts  map[string]string // the sources of scripts that clients sent, by digest; whoever keeps them copies them
	Windows  []history.Window
	Initial  *int64 // of the guarded store, for workloads that say
	Final    *int64
	Steps    int             // events that the scheduler released
	Virtual  time.Duration   // how long it would have taken
	Waited   time.Duration   // of that, what the strategy let pass while messages were on their way
	Hash     uint64          // of the trace
	Trace    []string        // when it was asked for
	Schedule faults.Schedule // likewise
	tape     []deviation
	Missed   int      // choices of a tape that were not possible
	Pruned   bool     // given up on the way: its state had been seen
	Stuck    []string // clients that had not ended at the horizon
	Crash    string   // a panic of a client, or clients that do not end, with the stack
	Left     string   // goroutines that the lock left behind for ever

	Lacking      string            // what the lock's connections asked for and the simulator has not, such as CLIENT TRACKING
	Unexplorable bool              // the lock keeps a mutex across a request, as Crash says: no finding, and the end of a search
	Loop         []string          // what a client does over and over while no time passes: its name, and commands
	Renewed      []history.Command // made a hold last longer, from clients that had neither a hold nor an operation under way
	Errors       []string          // what workloads returned, by client, but for crashes that were placed
}

// host keeps what outlives a schedule: the nodes.
type host struct {
	again      func() // told that a schedule is run once more
	nodes      []*node
	known      Catalogue
	scripts    map[string]string // names of scripts by digest
	sources    map[string]string // of scripts that clients of any schedule sent, by digest
	echo       func(Choice)      // told of every choice that is not the default, as it is made; nil means nobody is
	reportSlow func(string)      // told where a schedule is that takes long
}

// newHost makes a host whose programs name variants of a catalogue; nil knows none.
func newHost(known Catalogue) *host {
	if known == nil {
		known = empty{}
	}
	names := known.ScriptNames()
	for _, s := range workloads.Scripts() {
		names[s.Digest()] = s.Name
	}
	return &host{known: known, scripts: names, sources: map[string]string{}, reportSlow: func(string) {}, again: func() {}}
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

// run runs one schedule of a program.
func (h *host) run(p Program, s chooser, b Bounds, keepTrace bool) (out Outcome, err error) {
	p, err = p.resolve(h.known)
	if err != nil {
		return Outcome{}, err
	}
	nodes, err := h.nodesFor(nodesOf(p) + 1)
	if err != nil {
		return Outcome{}, err
	}
	w := &world{program: p, strategy: s, bounds: b.withDefaults(p), nodes: nodes, names: h.scripts, sources: h.sources, echo: h.echo, trace: newTrace(keepTrace)}
	if !w.run(h.reportSlow) {
		h.nodes = nil // they are the abandoned bubble's
		out = w.outcome()
		if out.Unexplorable {
			return out, nil
		}
		return out, h.lookForTimers(p, b, &out)
	}
	out = w.outcome()
	out.Initial, out.Final = w.audit()
	return out, nil
}

// nodesOf is how many nodes the lock has: of a replicated pair, both.
func nodesOf(p Program) int {
	if p.Topology == impls.Replicated {
		return 2
	}
	return p.Nodes
}

// keepPanic keeps what synctest says of goroutines that are left behind. It is deferred.
func (w *world) keepPanic() {
	if r := recover(); r != nil {
		w.left = fmt.Sprintf("%v", r)
	}
}

// begin fills the world; it runs inside the bubble, where channels belong to it.
func (w *world) begin() {
	p := w.program
	w.start = time.Now()
	w.activity, w.healed, w.stop = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	w.timer = time.NewTimer(0)
	w.timer.Stop()
	w.cut = map[cutKey]bool{}
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
			ops: make([]history.Operation, 0, usualOps), commands: make([]history.Command, 0, usualOps)})
	}
	if p.Variant.Traits.OwnRandom {
		for i, c := range w.clients {
			c.tokens = newTokens(w.seedOf(i))
		}
	}
	if p.Length > 0 {
		w.after(p.Length, w.lastRound)
	}
	w.director = w.newDirector()
	w.director.Start(context.Background())
	if err := p.Workload.Prepare(context.Background(), directStore{w.nodes[w.storeIndex()]}, w.program.Config); err != nil {
		w.crash = "prepare the guarded store: " + err.Error()
	}
}

// lastRound lets clients begin no further round.
func (w *world) lastRound() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
}

// underFault reports whether a fault is under way.
func (w *world) underFault() bool {
	return w.director.InForce()
}

// usualOps is how many operations, and how many commands, a client has in a short schedule.
const usualOps = 16

// runGuarded runs a client and turns a panic of its goroutine into an outcome.
func (c *client) runGuarded(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			c.world.mu.Lock()
			defer c.world.mu.Unlock()
			c.done = true
			c.world.crash = fmt.Sprintf("client %s: panic: %v\n%s", c.name, r, debug.Stack())
			c.world.wakeDriver()
		}
	}()
	c.run(ctx)
}

// patience is how much virtual time clients get to unwind when the world ends before they do.
const patience = time.Hour

// end stops what still runs: contexts end, connections break, clocks answer that the client is dead.
func (w *world) end(cancel context.CancelFunc, ended <-chan struct{}) {
	w.mu.Lock()
	w.virtual = w.now()
	for _, c := range w.clients {
		if !c.done {
			w.stuck = append(w.stuck, c.name)
			c.abort()
		}
	}
	w.traceOps()
	for _, c := range w.clients {
		c.recordClosed = true
	}
	w.mu.Unlock()
	cancel()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		w.crash = "clients do not end when their contexts, clocks and connections do"
	}
	w.settleBackground()
}

// settleBackground lets what still runs in the background of clients that are gone come to its end, such as a dial that waits for its deadline.
func (w *world) settleBackground() {
	w.mu.Lock()
	w.gone = true
	close(w.healed)
	w.mu.Unlock()
	time.Sleep(settling)
	w.mu.Lock()
	w.healed = make(chan struct{})
	w.mu.Unlock()
}

// settling is longer than every time-out that a Redis client has by default.
const settling = time.Minute

// closeRecord records what the client has not finished as not finished, and nothing more of it.
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

// abort lets a client that is stuck end.
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

// outcome collects what the world leaves behind.
func (w *world) outcome() Outcome {
	p := w.program
	out := Outcome{
		Header: history.Header{Lock: p.Variant.Name, Kind: p.Variant.Kind, Lease: int64(p.Config.Lease), Permits: p.Permits,
			Votes: p.Variant.Votes(), Wakeups: p.Variant.Traits.Wakeups, FIFO: p.Variant.Traits.FIFO, LeaseFromAsking: p.Variant.Traits.FromAsking, Epoch: w.start.UnixNano()},
		Windows: w.director.Windows(), Steps: w.step, Virtual: w.virtual, Waited: w.waited, Hash: w.trace.hash, Trace: w.trace.lines, tape: w.tape,
		Stuck: w.stuck, Crash: w.crash, Unexplorable: w.unexplorable, Left: w.left, Loop: w.loop, Renewed: w.renewed, Pruned: w.pruned, Schedule: w.schedule, Scripts: w.sources,
	}
	if p.Variant.Traits.NoLease {
		out.Header.Lease = 0
	}
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
	return out
}

// commands merges what the clients have sent by when it was sent; of one instant in order of client, node and content.
func (w *world) commands() []history.Command {
	var all []history.Command
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

// audit reads the guarded store before and after, when the workload guards one value.
func (w *world) audit() (initial, final *int64) {
	guarded := w.program.Workload.Guarded(w.program.Config)
	if len(guarded) != 1 {
		return nil, nil
	}
	for key := range maps.Keys(guarded) {
		first := guarded[key]
		last, err := directStore{w.nodes[w.storeIndex()]}.Read(context.Background(), key, 0)
		if err == nil {
			initial, final = &first, &last
		}
	}
	return initial, final
}

// directStore is the guarded store without the network, for filling and auditing it.
type directStore struct{ node *node }

func (s directStore) name(key string) string { return keyPrefix + "store:{" + key + "}" }

// Read returns the value of a key; 0 when there is none.
func (s directStore) Read(_ context.Context, key string, _ uint64) (int64, error) {
	text, err := s.node.redis.DB(0).Get(s.name(key))
	if err != nil {
		return 0, nil //nolint:nilerr // a missing key is the value 0
	}
	return strconv.ParseInt(text, 10, 64)
}

// Write stores a value.
func (s directStore) Write(_ context.Context, key string, value int64, _ uint64) error {
	return s.node.redis.DB(0).Set(s.name(key), strconv.FormatInt(value, 10))
}
