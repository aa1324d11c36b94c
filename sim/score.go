package sim

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// note adds a step to the score of a run whose trace is kept, and gives its number.
func (w *world) note(s faults.Step) int {
	if !w.trace.keep {
		return 0
	}
	s.ID, s.At = len(w.score)+1, w.timeline()
	w.score = append(w.score, s)
	return s.ID
}

func (w *world) noteRequest(q *request, lost bool) {
	if !w.trace.keep {
		return // before the step is made, which costs more than the event
	}
	q.noted = w.note(q.step(faults.Step{Kind: faults.StepRequest, Sent: q.sent, Lost: lost}))
}

// noteReply passes over messages to subscribers: a score has none.
func (w *world) noteReply(r *reply, lost bool) {
	if w.trace.keep && r.request != nil {
		w.note(r.request.step(faults.Step{Kind: faults.StepReply, Of: r.request.noted, Lost: lost}))
	}
}

func (w *world) noteMoment(a *actor, m history.Moment) {
	if !w.trace.keep {
		return
	}
	w.note(faults.Step{Kind: faults.StepMoment, Client: a.name, Command: string(m)})
}

// step fills in whose message it is.
func (q *request) step(s faults.Step) faults.Step {
	c := commandOf(q)
	s.Client, s.Node, s.Command = c.Client, c.Node, c.Name
	if strings.HasPrefix(c.Name, "EVAL") {
		s.Command += " " + c.Args[0]
	}
	return s
}

// noteFault notes that a fault begins.
func (w *world) noteFault(fault, client string, node int) int {
	if !w.trace.keep {
		return 0
	}
	spec := faults.Spec{Fault: fault, Client: clientNumber(client)}
	if node >= 0 && ofNode(fault) {
		spec.Node = node + 1
	}
	return w.note(faults.Step{Kind: faults.StepBegin, Client: client, Node: node, Fault: spec})
}

// ofNode tells the faults that are done to one node from those that are done to a client's link.
func ofNode(fault string) bool {
	kind, ok := faults.FindKind(fault)
	return ok && kind.On == faults.OneNode
}

func clientNumber(name string) (n int) {
	_, _ = fmt.Sscanf(name, "c%d", &n) // 0, anybody, for what is no client's name
	return n
}

// Score runs a tape and gives what happened, step by step, for real servers to be led through. What was so from the start is in the
// tape's program, and not in the score. The error is ErrDiverged when the tape does not give its trace any more.
func (s *Simulator) Score(t Tape) (faults.Score, error) {
	out, err := s.Replay(t)
	if err != nil {
		return nil, err
	}
	var score faults.Score
	skipped := map[int]bool{}
	for _, step := range out.Score.Playable() {
		if step.Kind == faults.StepBegin && IsFromStart(step.Fault.Fault) || step.Kind == faults.StepEnd && skipped[step.Of] {
			skipped[step.ID] = true
			continue
		}
		if step.Kind == faults.StepBegin {
			if step.Fault, err = sized(step.Fault, t.Program); err != nil {
				return nil, err
			}
		}
		score = append(score, step)
	}
	return score, nil
}

// IsFromStart tells the faults that are a state of affairs for the whole of a simulated run.
func IsFromStart(fault string) bool {
	switch fault {
	case faults.SkewClient, faults.CollideOwners, faults.SlowWork:
		return true
	}
	return false
}

// sized gives a fault its size: that of the program's fault of its name, or the one that a search places.
func sized(f faults.Spec, p Program) (faults.Spec, error) {
	for _, scripted := range p.Faults {
		if scripted.Fault == f.Fault {
			f.By, f.Rate = scripted.By, scripted.Rate
			return f, nil
		}
	}
	switch f.Fault {
	case faults.JumpClock:
		f.By = faults.Span{Leases: 2}
	case faults.DriftClock, faults.SlowNetwork:
		return f, fmt.Errorf("%w: its %s has no size", ErrDiverged, f.Fault)
	}
	return f, nil
}
