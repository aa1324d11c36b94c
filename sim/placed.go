package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// bySearch is the moment that the windows of a search's faults name.
const bySearch = "chosen by the search"

// Placed runs a tape and gives its faults as a scenario would place them, those of its program first: each at the command, or at the step, of the
// client that was next when the search placed it. The order of messages is not in it, and cannot be: a tape is the only thing that can say it. The
// error is ErrDiverged when the tape does not give its trace any more.
func (s *Simulator) Placed(t Tape) ([]faults.Spec, error) {
	out, err := s.Replay(t)
	if err != nil {
		return nil, err
	}
	var chosen []string
	for _, c := range t.Choices {
		if _, ok := c.fault(); ok {
			chosen = append(chosen, c.Do)
		}
	}
	specs := append([]faults.Spec{}, t.Program.Faults...)
	for _, w := range out.Windows {
		if w.Moment != bySearch {
			continue
		}
		if len(chosen) == 0 {
			return nil, fmt.Errorf("%w: it has a %s that no choice placed", ErrDiverged, w.Fault)
		}
		specs = append(specs, placedAs(w, chosen[0], out))
		chosen = chosen[1:]
	}
	if len(chosen) > 0 {
		return nil, fmt.Errorf("%w: the choice %q placed no fault", ErrDiverged, chosen[0])
	}
	return specs, nil
}

// placedAs is the fault of a window, which a choice placed, as a scenario says it.
func placedAs(w history.Window, choice string, out Outcome) faults.Spec {
	client := w.Client
	if client == "" {
		client = busiest(out, w.Start)
	}
	s := faults.Spec{Fault: w.Fault, Client: clientNumber(client), When: next(out, client, w)}
	if w.Node >= 0 && ofNode(w.Fault) {
		s.Node = w.Node + 1
	}
	switch {
	case strings.HasSuffix(choice, untilOther):
		s.For, s.Until = faults.Span{Fixed: time.Millisecond}, otherEntered // a scenario wants a length, too
	case w.End > w.Start:
		s.For = faults.Span{Fixed: time.Duration(w.End - w.Start)}
	}
	if w.Fault == faults.JumpClock {
		s.By = faults.Span{Leases: 2}
	}
	return s
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

// busiest is the client that sent the last command before an instant: a fault that is nobody's is placed after its doings.
func busiest(out Outcome, at int64) string {
	who := ""
	for _, c := range out.Commands {
		if c.Sent <= at {
			who = c.Client
		}
	}
	return who
}

// next is the trigger that comes next for a client at the start of a window: the reply that it waits for, the section that it is in, or the
// command that it sends next.
func next(out Outcome, client string, w history.Window) faults.Trigger {
	last, following := around(out, client, w.Start)
	switch {
	case w.Fault == faults.LoseRequest || w.Fault == faults.DelayRequest:
		return faults.Trigger{Request: pattern(last), Nth: last.nth}
	case w.Fault == faults.LoseReply || w.Fault == faults.DelayReply || last.name != "" && last.open:
		return faults.Trigger{Reply: pattern(last), Nth: last.nth}
	}
	if n, inside := section(out, client, w.Start); inside {
		return faults.Trigger{Moment: string(history.Entered), Nth: n}
	}
	if following.name != "" {
		return faults.Trigger{Request: pattern(following), Nth: following.nth}
	}
	return faults.Trigger{After: faults.Span{Fixed: time.Duration(max(w.Start, 1))}}
}

// counted is one command of a client with its number among those of its name.
type counted struct {
	name string
	nth  int
	open bool // its reply had not been seen
}

func pattern(c counted) string { return "any " + c.name }

// around gives a client's last command that was sent by an instant, and the one after it.
func around(out Outcome, client string, at int64) (last, following counted) {
	seen := map[string]int{}
	for _, c := range out.Commands {
		if c.Client != client || faults.IsHandshake(c.Name) {
			continue
		}
		seen[c.Name]++
		one := counted{c.Name, seen[c.Name], c.Replied == 0 || c.Replied > at}
		if c.Sent > at {
			return last, one
		}
		last = one
	}
	return last, following
}

// section tells whether a client is inside its critical section at an instant, and how many it has entered by then.
func section(out Outcome, client string, at int64) (n int, inside bool) {
	for _, op := range out.Ops {
		if op.Op == history.Use && op.Client == client && op.Call <= at {
			n++
			inside = inside || at < op.Return
		}
	}
	return n, inside
}
