package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/workloads"
)

// Bounds limits what a search may do besides ordering messages.
type Bounds explored.Bounds

const defaultMaxSteps = 2000

// delaysPerLease is how many of the longest delays of a search fit into a lease, unless it says otherwise.
const delaysPerLease = 20

func (b Bounds) withDefaults(p Program) Bounds {
	if b.MaxDelay == 0 {
		b.MaxDelay = p.Config.Lease / delaysPerLease
	}
	if b.MaxSteps == 0 {
		b.MaxSteps = defaultMaxSteps
	}
	if len(b.Faults) == 0 {
		b.MaxFaults = 0
	}
	b.Faults = slices.Sorted(slices.Values(b.Faults))
	b.Clients, b.Ops = p.Clients, p.Config.Ops
	return b
}

// moves is what could happen at one step.
type moves struct {
	step    int
	options []option // at least one; requests, replies, replication
	wait    bool     // time may pass instead
	view
}

// view has what a strategy requests only when it needs it.
type view interface {
	faults() []option              // those that may be injected instead; empty when no more are allowed
	state() (hash uint64, ok bool) // of the world; ok is false if it cannot be hashed
	traceHash() uint64             // hash of what has happened so far
}

// chooser picks what happens next.
type chooser interface {
	choose(m moves) option
}

// oldest is the default choice: what has been possible for the longest time, ordered by name among equals.
func oldest(options []option) option {
	best := options[0]
	for _, o := range options[1:] {
		if o.ready < best.ready {
			best = o
		}
	}
	return best
}

// byDefault always takes the oldest.
type byDefault struct{}

func (byDefault) choose(m moves) option { return oldest(m.options) }

// random picks uniformly among the messages. The steps at which its faults are injected are drawn before the schedule begins, over its expected length:
// drawn step by step, faults would nearly always come early.
type random struct {
	rand   *rand.Rand
	waits  float64 // chance of letting time pass at a step
	calm   float64 // chance of taking the default at a step
	faults []int   // steps at which a fault is injected, in order
}

// newRandom draws a random schedule. length is the expected number of steps.
func newRandom(seed uint64, b Bounds, length int) *random {
	r := rand.New(rand.NewPCG(seed, 1))
	waits := []float64{0, 0, 0.03, 0.15}
	calm := []float64{0, 0.5, 0.9}
	return &random{rand: r, waits: waits[r.IntN(len(waits))], calm: calm[r.IntN(len(calm))], faults: faultSteps(r, b, length)}
}

// faultSteps draws the steps at which faults are injected: mostly as many as are allowed.
func faultSteps(r *rand.Rand, b Bounds, length int) []int {
	n := b.MaxFaults
	if n > 0 && r.IntN(4) == 0 {
		n = r.IntN(n)
	}
	steps := make([]int, n)
	for i := range steps {
		steps[i] = r.IntN(max(length, 1))
	}
	slices.Sort(steps)
	return steps
}

func (s *random) choose(m moves) option {
	if o, ok := dueFault(s.rand, &s.faults, m); ok {
		return o
	}
	if m.wait && s.rand.Float64() < s.waits {
		return option{kind: waitForTime}
	}
	if s.rand.Float64() < s.calm {
		return oldest(m.options)
	}
	return m.options[s.rand.IntN(len(m.options))]
}

// dueFault picks a fault if one is due at this step.
func dueFault(r *rand.Rand, steps *[]int, m moves) (option, bool) {
	if len(*steps) == 0 || m.step < (*steps)[0] {
		return option{}, false
	}
	possible := m.faults()
	if len(possible) == 0 {
		return option{}, false
	}
	*steps = (*steps)[1:]
	return possible[r.IntN(len(possible))], true
}

// pct is probabilistic concurrency testing: every client has a priority, the highest goes first, and at a few steps drawn beforehand the next
// client drops to the lowest priority. It finds a bug that needs d ordering constraints with a probability of at least 1/(n·k^(d-1)) for n clients
// and k steps.
type pct struct {
	rand    *rand.Rand
	rank    map[int]int // by owner; higher goes first
	lowest  int
	changes []int
	waits   float64
	faults  []int
}

// depth is the number of ordering constraints that PCT aims at.
const depth = 3

func newPCT(seed uint64, b Bounds, clients, length int) *pct {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &pct{rand: r, rank: map[int]int{}, waits: []float64{0, 0.05}[r.IntN(2)], faults: faultSteps(r, b, length)}
	order := r.Perm(clients + 1)
	for i := range clients {
		s.rank[i] = order[i]
	}
	s.rank[maxClients] = order[clients]
	for range depth - 1 {
		s.changes = append(s.changes, r.IntN(max(length, 1)))
	}
	slices.Sort(s.changes)
	return s
}

func (s *pct) choose(m moves) option {
	if o, ok := dueFault(s.rand, &s.faults, m); ok {
		return o
	}
	if m.wait && s.rand.Float64() < s.waits {
		return option{kind: waitForTime}
	}
	best := s.highest(m.options)
	if len(s.changes) > 0 && m.step >= s.changes[0] {
		s.changes = s.changes[1:]
		s.lowest--
		s.rank[best.owner()] = s.lowest
		best = s.highest(m.options)
	}
	return best
}

func (s *pct) highest(options []option) option {
	best := options[0]
	for _, o := range options[1:] {
		if s.rank[o.owner()] > s.rank[best.owner()] || (o.owner() == best.owner() && o.ready < best.ready) {
			best = o
		}
	}
	return best
}

// placeableFault is a fault that a strategy may place now.
type placeableFault struct {
	format string // of the name: fault, target, length
	args   []any
	place  func()
}

// name formats the name, which few of the placeable faults need. message formats an event among its arguments.
func (p *placeableFault) name(message func(event) string) string {
	args := slices.Clone(p.args)
	for i, arg := range args {
		if e, ok := arg.(event); ok {
			args[i] = message(e)
		}
	}
	return fmt.Sprintf(p.format, args...)
}

// placeableFaults lists the faults that may be placed now, by name of fault, then client, then node.
func (w *world) placeableFaults() []option {
	out := w.placeable[:0]
	add := func(s faults.Spec, message func() faults.Message, format string, args ...any) {
		out = append(out, option{kind: placeFault, fault: &placeableFault{format, args, func() { w.place(s, message) }}})
	}
	long, short := w.program.Config.Lease*3/2, w.program.Config.Lease/10
	for _, fault := range w.bounds.Faults {
		w.clientFaults(fault, long, add)
		w.messageFaults(fault, long, add)
		w.nodeFaults(fault, long, short, add)
	}
	w.placeable = out
	return out
}

// place applies a fault that the search has chosen.
func (w *world) place(s faults.Spec, message func() faults.Message) {
	var m faults.Message
	if message != nil {
		if m = message(); m == nil {
			return
		}
	}
	w.director.Place(context.Background(), s, faults.BySearch, m)
}

// untilOther marks in an option's name that the fault ends when another client has entered its critical section.
const untilOther = "until " + faults.OtherEntered

// placer adds an option for a fault, named by format and args. With message set, the fault does nothing if the message is gone by then: a client's
// timer may end the connection between the choice of a fault and its effect.
type placer func(s faults.Spec, message func() faults.Message, format string, args ...any)

func (w *world) clientFaults(fault string, long time.Duration, add placer) {
	for _, c := range w.clients {
		if c.done || c.crashed || c.paused {
			continue
		}
		faultsOfClient(fault, c.index, c.asks(), long, add)
	}
}

// faultsOfClient lists the faults of a live client, by its index; asks says that it has an acquire under way.
func faultsOfClient(fault string, client int, asks bool, long time.Duration, add placer) {
	s, name := faults.Spec{Fault: fault, Client: client + 1}, workloads.ClientName(client)
	switch fault {
	case faults.PauseClient:
		add(lasting(s, long), nil, "%s %s %v", fault, name, long)
		add(untilOthers(s), nil, "%s %s %s", fault, name, untilOther)
	case faults.CrashClient:
		add(s, nil, "%s %s", fault, name)
	case faults.CancelClient:
		if asks {
			add(s, nil, "%s %s", fault, name)
		}
	case faults.BlackholeClient:
		add(lasting(s, long), nil, "%s %s %v", fault, name, long)
	}
}

func lasting(s faults.Spec, d time.Duration) faults.Spec {
	s.For = faults.Span{Fixed: d}
	return s
}

func untilOthers(s faults.Spec) faults.Spec {
	s.Until = faults.OtherEntered
	return s
}

// messageFaults lists the faults of the messages that could be delivered at this step.
func (w *world) messageFaults(fault string, long time.Duration, add placer) {
	for _, o := range w.possible {
		if o.conn == nil {
			continue
		}
		cn := o.conn
		message := func() faults.Message { return oldestReply(cn) }
		if o.kind == deliverRequest {
			message = func() faults.Message { return oldestRequest(cn) }
		}
		faultsOfMessage(fault, o, message, long, add)
	}
}

// faultsOfMessage lists the faults of one message.
func faultsOfMessage(fault string, o option, message func() faults.Message, long time.Duration, add placer) {
	kind, _ := faults.FindKind(fault)
	if kind.In != faults.InMessage || (o.kind == deliverRequest) != (kind.At == faults.AtRequest) {
		return
	}
	s, e := faults.Spec{Fault: fault, Client: o.owner() + 1}, o.event()
	if fault == faults.LoseRequest || fault == faults.LoseReply {
		add(s, message, "%s %s", fault, e)
		return
	}
	add(lasting(s, long), message, "%s %s %v", fault, e, long)
	add(untilOthers(s), message, "%s %s %s", fault, e, untilOther)
}

func oldestRequest(cn *conn) faults.Message {
	if len(cn.requests) == 0 {
		return nil
	}
	return onRequest{cn.requests[0], true}
}

func oldestReply(cn *conn) faults.Message {
	if len(cn.replies) == 0 {
		return nil
	}
	return onReply{cn.replies[0]}
}

func (w *world) nodeFaults(fault string, long, short time.Duration, add placer) {
	jump := 2 * w.program.Config.Lease
	for i, n := range w.lockNodes() {
		if n.down {
			continue
		}
		s := faults.Spec{Fault: fault, Node: i + 1}
		switch fault {
		case faults.KillServer:
			add(lasting(s, short), nil, "%s n%d %v", fault, i+1, short)
		case faults.PauseServer, faults.PartitionNodes:
			add(lasting(s, long), nil, "%s n%d %v", fault, i+1, long)
		case faults.JumpClock:
			s.By = faults.Span{Fixed: jump}
			add(s, nil, "%s n%d %v", fault, i+1, jump)
		case faults.FlushScripts, faults.DeleteKey, faults.EvictKeys:
			s.Node = w.role(i) + 1
			add(s, nil, "%s n%d", fault, i+1)
		}
	}
	switch {
	case fault == faults.Failover && w.program.Topology == impls.Replicated && !w.replication.stopped:
		add(faults.Spec{Fault: fault}, nil, "%s", fault)
	case fault == faults.CutPubSub && slices.ContainsFunc(w.conns, func(cn *conn) bool { return cn.server.subs.has(cn) }):
		add(faults.Spec{Fault: fault}, nil, "%s", fault)
	}
}
