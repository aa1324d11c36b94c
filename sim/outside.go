package sim

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/faults"
)

// In returns what runs schedules in a world outside the simulator, such as processes on real
// servers, until ctx ends. It keeps no trace. run runs a program once, one message at a time, in
// the order that lead chooses; its outcome has no tape: lead keeps it.
func In(ctx context.Context, run func(ctx context.Context, p Program, lead *Lead) (Outcome, error), known Catalogue) Runner {
	return worldRunner{ctx, run, known}
}

type worldRunner struct {
	ctx   context.Context // of the search
	run   func(ctx context.Context, p Program, lead *Lead) (Outcome, error)
	known Catalogue
}

// Catalogue returns the locks that programs name.
func (o worldRunner) Catalogue() Catalogue { return o.known }

// Schedule runs a program once in the world.
func (o worldRunner) Schedule(p Program, s Strategy, b Bounds, _ bool) (Outcome, error) {
	p, err := p.Resolve(o.known)
	if err != nil {
		return Outcome{}, err
	}
	l := &Lead{strategy: s, program: p, bounds: b.WithDefaults(p)}
	out, err := o.run(o.ctx, p, l)
	out.Program, out.tape = p, l.tape
	if f, ok := s.(*follow); ok {
		out.Missed = f.missed + len(f.choices)
	}
	return out, err
}

// Lead applies a strategy to one schedule of a world outside the simulator. It chooses what happens
// next, and keeps the tape.
type Lead struct {
	strategy Strategy
	program  Program
	bounds   Bounds
	waits    int // so far
	placed   int // number of faults so far
	tape     []func() Choice

	scene   Scene // the present one
	options []option
}

var _ view = (*Lead)(nil)

// Scene describes what could happen next in a world outside the simulator.
type Scene struct {
	Step    int
	Held    []faults.Held // messages that wait for their turn; at least one
	Clients []int         // those that have not ended, by number from 1, in order
}

// Next chooses. It returns false when the next choice of a tape is not available yet; with last set
// there is nothing more to wait for.
func (l *Lead) Next(s Scene, last bool) (faults.Turn, bool) {
	l.scene, l.options = s, make([]option, len(s.Held))
	for i := range s.Held {
		held, o := &s.Held[i], &l.options[i]
		*o = option{kind: deliverRequest, held: held, ready: held.Since}
		if held.Reply {
			o.kind = deliverReply
		}
		for _, before := range l.options[:i] { // the rank is among those of one kind between the same two ends
			if before.kind == o.kind && before.held.Client == held.Client && before.held.Node == held.Node {
				o.rank++
			}
		}
	}
	usual := oldest(l.options)
	if s.Step >= l.bounds.MaxSteps {
		return faults.Turn{Held: l.index(usual.held)}, true
	}
	if f, ok := l.strategy.(*follow); ok && !last {
		i := slices.IndexFunc(f.choices, func(c Choice) bool { return c.Before == "" && c.At == s.Step })
		if i >= 0 {
			due := f.choices[i]
			_, placed := due.Fault()
			if !placed && due.Do != (option{kind: waitForTime}).event().name() &&
				!slices.ContainsFunc(l.options, func(o option) bool { return o.event().name() == due.Do }) {
				return faults.Turn{}, false // the message has not arrived
			}
		}
	}
	o := l.strategy.choose(moves{step: s.Step, options: l.options, wait: l.waits < l.bounds.MaxWaits, view: l})
	if o != usual {
		choice := Choice{At: s.Step, Do: o.event().name()} // named at once, by its step
		l.tape = append(l.tape, func() Choice { return choice })
	}
	switch o.kind {
	case waitForTime:
		l.waits++
		return faults.Turn{Held: -1, Wait: l.bounds.MaxDelay}, true
	case placeFault:
		l.placed++
		return faults.Turn{Held: l.index(o.fault.event.held), Fault: o.fault.spec}, true
	}
	return faults.Turn{Held: l.index(o.held)}, true
}

// index returns the index in the scene of a message; -1 for nil.
func (l *Lead) index(h *faults.Held) int {
	return slices.IndexFunc(l.options, func(o option) bool { return o.held == h })
}

func (l *Lead) faults() (out []option) {
	if l.placed >= l.bounds.MaxFaults {
		return nil
	}
	add := func(s faults.Spec, target string, of option) { out = append(out, placeable(s, target, of)) }
	long := l.program.Config.Lease * 3 / 2
	for _, fault := range l.bounds.Faults {
		for _, c := range l.scene.Clients {
			faultsOfClient(fault, c, true, long, add) // any of them may have an acquire under way
		}
		if kind, _ := faults.FindKind(fault); kind.OnNode() {
			add(faults.Spec{Fault: fault, Node: 1}, nodeName(0), option{})
		}
		for _, o := range l.options {
			faultsOfMessage(fault, o, long, add)
		}
	}
	return out
}

// state returns false: the state of processes is not known.
func (l *Lead) state() (uint64, bool) { return 0, false }

func (l *Lead) traceHash() uint64 { return 1 }
