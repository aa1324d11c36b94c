package visual

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// picture is the input for Porcupine's drawing. Times are from the first operation.
type picture struct {
	header   history.Header
	v        *checker.Violation
	base     int64
	end      int64 // of intervals without an end
	clients  []string
	acquires []move // by number of the hold
	ops      []porcupine.Operation
	notes    []porcupine.Annotation
}

// Colours of the annotations: blue, orange and pink, which most people who confuse red and green can tell apart.
const (
	colourHold      = "#6DB6FE"
	colourUse       = "#B9DBFF"
	colourFault     = "#FFAA26"
	colourViolation = "#FEB5DA"
	colourOther     = "#E0E0E0"
)

func newPicture(v *checker.Violation) *picture {
	a := v.Around
	p := &picture{header: a.Header, v: v, base: a.Operations[0].Call}
	for _, op := range a.Operations {
		p.base, p.end = min(p.base, op.Call), max(p.end, op.Return)
		p.client(op.Client)
	}
	for _, h := range a.Holds {
		p.base = min(p.base, h.Acquire.Call)
		p.client(h.Client)
	}
	p.end = max(p.end, v.At)
	slices.Sort(p.clients)
	for i := range a.Holds {
		p.addHold(&a.Holds[i])
	}
	for i := range a.Operations {
		p.addOperation(&a.Operations[i])
	}
	p.addFaults(a.Faults)
	p.note(v.At, v.At+v.Lasted, annotation("violation", colourViolation, string(v.Property), v.Story...))
	return p
}

func (p *picture) client(name string) int {
	i := slices.Index(p.clients, name)
	if i < 0 {
		i, p.clients = len(p.clients), append(p.clients, name)
	}
	return i
}

// at converts an instant to the time of the picture.
func (p *picture) at(t int64) int64 { return min(max(t, p.base), p.end+1) - p.base }

// addHold adds a grant and the end of its hold, as operations of the model, and the hold as annotations.
func (p *picture) addHold(h *checker.Hold) {
	in := move{act: acquire, hold: len(p.acquires), mode: h.Mode, client: h.Client}
	if h.Mode == history.Exclusive {
		in.fence = h.Fence
	}
	p.acquires = append(p.acquires, in)
	granted := fmt.Sprintf("%s acquire → granted", h.Client)
	if h.Fence > 0 {
		granted += fmt.Sprintf(", fence %d", h.Fence)
	}
	p.operation(in, h.Acquire.Call, h.Start(), granted)
	for _, b := range h.Belief {
		p.note(b.From, b.To, annotation(h.Client+" holds", colourHold, "holds"))
	}
	for _, u := range h.Uses {
		p.note(u.Call, u.Return, annotation(h.Client+" is inside", colourUse, "critical section"))
	}
	end, over, how := h.End(), h.End(), "'s lease ended"
	if end > p.end {
		return
	}
	if h.Release != nil && h.Release.Call <= end {
		over, how = h.Release.Return, " released: "+h.Release.Outcome.String()
	}
	in.act = leave
	p.operation(in, end, max(end, over), h.Client+how)
}

func (p *picture) operation(in move, from, to int64, text string) {
	p.ops = append(p.ops, porcupine.Operation{ClientId: p.client(in.client), Input: in, Output: text, Call: p.at(from), Return: p.at(to)})
}

// addOperation adds an operation other than a grant or the end of a hold: a refusal as an operation of the model if the violation is one of refusals,
// everything else as an annotation.
func (p *picture) addOperation(op *history.Operation) {
	if op.Op == history.Use || op.Op == history.Release || op.Op == history.Acquire && op.Outcome == history.OK {
		return
	}
	text := fmt.Sprintf("%s %s → %s", op.Client, op.Op, op.Outcome)
	if op.Op == history.Acquire && op.Outcome == history.Busy && (p.v.Property == verdicts.Refusal || p.v.Property == verdicts.Progress) {
		p.operation(move{act: refused, mode: op.Mode, client: op.Client}, op.Call, op.Return, text)
		return
	}
	if op.Op == history.Write && op.HasValue {
		text = fmt.Sprintf("%s wrote %d, having read %d → %s", op.Client, op.Wrote, op.Read, op.Outcome)
	}
	p.note(op.Call, op.Return, annotation(op.Client+" "+op.Op.String(), colourOther, text))
}

func (p *picture) addFaults(faults []history.Window) {
	for i := range faults {
		w := &faults[i]
		details := []string{w.Moment, w.Note}
		if !w.Confirmed {
			details = append(details, "not confirmed")
		}
		p.note(w.Start, w.Last(), annotation(w.Label(), colourFault, w.Fault, details...))
	}
}

// annotation returns an annotation in a lane of its own, without times. Each detail is a line.
func annotation(tag, colour, text string, details ...string) porcupine.Annotation {
	return porcupine.Annotation{Tag: tag, Description: text, Details: joinLines(details), TextColor: "#000000", BackgroundColor: colour}
}

// note sets the annotation's times and adds it, unless they are outside the picture.
func (p *picture) note(from, to int64, a porcupine.Annotation) {
	if from > p.end || to < p.base {
		return
	}
	a.Start, a.End = p.at(from), p.at(max(from, to))
	p.notes = append(p.notes, a)
}

func joinLines(lines []string) string {
	out := ""
	for _, l := range lines {
		if l != "" {
			out += l + "\n"
		}
	}
	return out
}
