package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/workloads"
)

// ErrDiverged is returned if a replay does not reproduce the trace of its tape. The program, the
// lock or lockbench has changed, or the lock is not deterministic: it depends on a clock, a random
// source or a goroutine order of its own.
var ErrDiverged = errors.New("the replay diverged from the tape")

// Runner runs one schedule of a program: a [Simulator], or a world outside; see [In].
type Runner interface {
	// Schedule runs a program within bounds; the strategy chooses. It keeps the trace and the
	// schedule if asked to. An error means that the program is invalid.
	Schedule(p Program, s Strategy, b Bounds, keepTrace bool) (Outcome, error)
	// Catalogue has the locks that programs name.
	Catalogue() Catalogue
}

// Simulator runs single schedules in this process, one at a time; its nodes outlive them. Locks
// must be known to behave: one that panics in its own goroutine or spins takes the process with it.
// A search isolates that in worker processes; see package search.
type Simulator struct {
	sent         int // commands in the last schedule: about as many as in the next
	nodes        []*node
	known        Catalogue
	scripts      map[string]string // names of scripts by digest
	echo         func(Choice)
	endlessAfter time.Duration // see the constant; tests do not wait so long
}

var _ Runner = (*Simulator)(nil)

// New returns a simulator of programs whose locks are in the catalogue; nil is for programs that
// carry their Variant. The caller closes it.
func New(known Catalogue) *Simulator {
	names := map[string]string{}
	if known != nil {
		names = known.ScriptNames()
	}
	return &Simulator{known: known, scripts: workloads.NameScripts(names), endlessAfter: endlessAfter}
}

// Echo sets what later schedules call with every choice that is not the default, as it is made.
func (h *Simulator) Echo(chosen func(Choice)) { h.echo = chosen }

// Catalogue returns the locks that programs name.
func (h *Simulator) Catalogue() Catalogue { return h.known }

// Close closes the nodes.
func (h *Simulator) Close() {
	for _, n := range h.nodes {
		n.Close()
	}
}

// nodesFor returns n nodes. It must be called outside bubbles.
func (h *Simulator) nodesFor(n int) ([]*node, error) {
	for len(h.nodes) < n {
		one, err := newNode(len(h.nodes))
		if err != nil {
			return nil, err
		}
		h.nodes = append(h.nodes, one)
	}
	return h.nodes[:n], nil
}

// Schedule runs a program once; see [Runner].
func (h *Simulator) Schedule(p Program, s Strategy, b Bounds, keepTrace bool) (out Outcome, err error) {
	p, err = p.Resolve(h.known)
	if err != nil {
		return Outcome{}, err
	}
	w, err := h.newWorld(p, s, b)
	if err != nil {
		return Outcome{}, err
	}
	w.echo, w.trace.keep, w.expected = h.echo, keepTrace, h.sent
	if !w.run(h.endlessAfter) {
		h.nodes = nil // they are the abandoned bubble's
		out = w.outcome()
		if out.Unexplorable || out.Endless {
			return out, nil
		}
		return out, h.lookForTimers(p, b, &out)
	}
	out = w.outcome()
	out.Store = map[string]checker.StoreEnds{}
	for key, initial := range p.Workload.Guarded(p.Config) {
		if last, err := (directStore{w.nodes[w.storeIndex()]}).Read(context.Background(), key, 0); err == nil {
			out.Store[key] = checker.StoreEnds{Initial: &initial, Final: &last.Value}
		}
	}
	h.sent = len(out.Commands)
	return out, nil
}

// Run runs a program once. Its only faults are the program's; the order of messages is drawn from
// the seed, and so is how long they take: up to delay at once, but no longer than a search lets
// them by default; 0 means no time. An error means that the program is invalid.
func (h *Simulator) Run(p Program, delay time.Duration) (Outcome, error) {
	b := Bounds{MaxDelay: min(delay, p.Config.Lease/delaysPerLease)}
	if b.MaxDelay > 0 {
		b.MaxWaits = math.MaxInt
	}
	order := newRandom(p.Seed, b, 0)
	order.waits = usualWaits
	return h.Schedule(p, order, b, false)
}

// usualWaits is the chance with which Run lets time pass at a step while messages are on their way.
const usualWaits = 0.1

// Replay runs a tape and keeps the trace, and the schedule, whose Playable form real servers can
// replay. It returns ErrDiverged if the trace is not the tape's.
func (h *Simulator) Replay(t Tape) (Outcome, error) {
	out, err := h.Schedule(t.Program, t.Follow(), t.Bounds, true)
	if err != nil {
		return Outcome{}, err
	}
	if got := hashText(out.Hash); got != t.Hash || out.Missed > 0 {
		return out, fmt.Errorf("%w: trace %s, want %s; %d choices were not possible", ErrDiverged, got, t.Hash, out.Missed)
	}
	return out, nil
}

// lookForTimers repeats a schedule that ended in a deadlock, along its choices, to see whether the
// lock had set a timer: the timer might unlock the mutex, and time does not pass. Such a lock
// cannot be explored, and the result is unknown.
func (h *Simulator) lookForTimers(p Program, b Bounds, out *Outcome) error {
	w, err := h.newWorld(p, out.Tape(b).Follow(), b)
	if err != nil {
		return err
	}
	pending, restore := upstream.WatchTimers()
	defer restore()
	if w.run(h.endlessAfter) {
		return nil // the deadlock does not recur every time
	}
	h.nodes = nil
	if pending(ofLock) {
		out.Unexplorable = true
		out.Crash = p.Variant.Name + " waits for a mutex and has arranged something for later, which may unlock it\nin the simulator time goes on only when nobody waits for a mutex\n" + out.Crash
	}
	return nil
}

// newWorld must be called outside bubbles.
func (h *Simulator) newWorld(p Program, s Strategy, b Bounds) (*world, error) {
	nodes, err := h.nodesFor(p.Nodes + 1)
	if err != nil {
		return nil, err
	}
	return &world{program: p, strategy: s, bounds: b.WithDefaults(p), topology: topology{nodes: nodes},
		names: h.scripts, sources: map[string]string{}, trace: trace{hash: hashStart}}, nil
}
