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
	Tape     []Choice
	Missed   int      // choices of a tape that were not possible
	Pruned   bool     // given up on the way: its state had been seen
	Stuck    []string // clients that had not ended at the horizon
	Crash    string   // a panic of a client, or clients that do not end, with the stack
	Left     string   // goroutines that the lock left behind for ever

	Unexplorable bool              // the lock keeps a mutex across a request, as Crash says: no finding, and the end of a search
	Loop         []string          // what a client does over and over while no time passes: its name, and commands
	Renewed      []history.Command // made a hold last longer, from clients that had neither a hold nor an operation under way
	Errors       []string          // what workloads returned, by client, but for crashes that were placed
}

// host keeps what outlives a schedule: the nodes.
type host struct {
	nodes   []*node
	known   Catalogue
	scripts map[string]string // names of scripts by digest
	sources map[string]string // of scripts that clients of any schedule sent, by digest
	echo    func(Choice)      // told of every choice that is not the default, as it is made; nil means nobody is
	slow    func(string)      // told where a schedule is that takes long
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
	return &host{known: known, scripts: names, sources: map[string]string{}, slow: func(string) {}}
}

func (h *host) close() {
	for _, n := range h.nodes {
		n.close()
	}
}

// take returns n nodes. It must be called outside bubbles.
func (h *host) take(n int) ([]*node, error) {
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
	nodes, err := h.take(nodesOf(p) + 1)
	if err != nil {
		return Outcome{}, err
	}
	w := &world{program: p, strategy: s, bounds: b.withDefaults(p), nodes: nodes, names: h.scripts, sources: h.sources, echo: h.echo, trace: newTrace(keepTrace)}
	if !w.live(h.slow) {
		h.nodes = nil // they are the abandoned bubble's
		return w.outcome(), nil
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

// leave keeps what synctest says of goroutines that are left behind. It is deferred.
func (w *world) leave() {
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
		w.actors = append(w.actors, &actor{world: w, index: i, name: "c" + strconv.Itoa(i+1), dead: make(chan struct{}),
			ops: make([]history.Operation, 0, usualOps), commands: make([]history.Command, 0, usualOps)})
	}
	if p.Variant.Traits.OwnRandom {
		for i, a := range w.actors {
			a.tokens = newTokens(w.seedOf(i))
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

// stricken reports whether a fault is under way.
func (w *world) stricken() bool {
	return w.director.InForce()
}

// usualOps is how many operations, and how many commands, a client has in a short schedule.
const usualOps = 16

// guarded runs a client and turns a panic of its goroutine into an outcome.
func (a *actor) guarded(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			a.world.mu.Lock()
			defer a.world.mu.Unlock()
			a.done = true
			a.world.crash = fmt.Sprintf("client %s: panic: %v\n%s", a.name, r, debug.Stack())
			a.world.active()
		}
	}()
	a.run(ctx)
}

// patience is how much virtual time clients get to unwind when the world ends before they do.
const patience = time.Hour

// end stops what still runs: contexts end, connections break, clocks answer that the client is dead.
func (w *world) end(cancel context.CancelFunc, ended <-chan struct{}) {
	w.mu.Lock()
	w.virtual = w.now()
	for _, a := range w.actors {
		if !a.done {
			w.stuck = append(w.stuck, a.name)
			a.unwind()
		}
	}
	w.traceOps()
	for _, a := range w.actors {
		a.frozen = true
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
	w.settle()
}

// settle lets what still runs in the background of clients that are gone come to its end, such as a dial that waits for its deadline.
func (w *world) settle() {
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
func (a *actor) closeRecord(why string) {
	for _, op := range slices.Backward(a.open) {
		op.Return = a.world.timeline()
		if op.Op != history.Use {
			op.Outcome, op.Err = history.Unknown, why
		}
		a.record(op)
	}
	a.open = nil
	a.frozen = true
}

// unwind lets a client that is stuck end.
func (a *actor) unwind() {
	a.closeRecord("")
	a.die()
	for _, h := range a.reached {
		if h.pass != nil {
			close(h.pass)
		}
	}
	a.reached = nil
}

// outcome collects what the world leaves behind.
func (w *world) outcome() Outcome {
	p := w.program
	out := Outcome{
		Header: history.Header{Lock: p.Variant.Name, Kind: p.Variant.Kind, Lease: int64(p.Config.Lease), Permits: p.Permits,
			Votes: p.Variant.Votes(), Wakeups: p.Variant.Traits.Wakeups, FIFO: p.Variant.Traits.FIFO, Epoch: w.start.UnixNano()},
		Windows: w.director.Windows(), Steps: w.step, Virtual: w.virtual, Waited: w.waited, Hash: w.trace.hash, Trace: w.trace.lines, Tape: w.tape,
		Stuck: w.stuck, Crash: w.crash, Unexplorable: w.unexplorable, Left: w.left, Loop: w.loop, Renewed: w.renewed, Pruned: w.pruned, Schedule: w.schedule, Scripts: w.sources,
	}
	if p.Variant.Traits.NoLease {
		out.Header.Lease = 0
	}
	if f, ok := w.strategy.(*follow); ok {
		out.Missed = f.missed + len(f.choices)
	}
	for _, a := range w.actors {
		out.Ops = append(out.Ops, a.ops...)
		if a.err != nil && !errors.Is(a.err, impls.ErrCrashed) {
			out.Errors = append(out.Errors, a.name+": "+a.err.Error())
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
	for _, a := range w.actors {
		all = append(all, a.commands...)
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
