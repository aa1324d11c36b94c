package sim

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// note adds a step to the schedule of a run whose trace is kept, and gives its number.
func (w *world) note(s faults.Step) int {
	if !w.trace.keep {
		return 0
	}
	s.ID, s.At = len(w.schedule)+1, w.timeline()
	w.schedule = append(w.schedule, s)
	return s.ID
}

func (w *world) noteRequest(q *request, lost bool) {
	if !w.trace.keep {
		return // before the step is made, which costs more than the event
	}
	q.noted = w.note(q.step(faults.Step{Kind: faults.StepRequest, Sent: q.sent, Lost: lost}))
}

// noteReply passes over messages to subscribers: a schedule has none.
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

// noteFault notes that a fault begins. What is so from the start, of clients, is in the tape's program, and not in the schedule.
func (w *world) noteFault(f *faults.Fault) {
	kind, _ := faults.FindKind(f.Fault)
	if !w.trace.keep || kind.In == faults.InClient && f.Window().Moment != bySearch && f.When.Form() == faults.AtStart {
		return
	}
	spec, at := faults.Spec{Fault: f.Fault, Client: clientNumber(f.Window().Client), By: f.By, Rate: f.Rate}, f.Window()
	if at.Node >= 0 && (kind.On == faults.OneNode || kind.In == faults.InMessage || f.Node > 0) {
		spec.Node = at.Node + 1
	}
	f.ID = w.note(faults.Step{Kind: faults.StepBegin, Client: at.Client, Node: at.Node, Fault: spec})
}

func clientNumber(name string) (n int) {
	_, _ = fmt.Sscanf(name, "c%d", &n) // 0, anybody, for what is no client's name
	return n
}

// Schedule runs a tape and returns what happened, step by step, for real servers to be led through. The error is ErrDiverged when the tape
// does not give its trace any more.
func (s *Simulator) Schedule(t Tape) (faults.Schedule, error) {
	out, err := s.Replay(t)
	if err != nil {
		return nil, err
	}
	return out.Schedule.Playable(), nil
}
