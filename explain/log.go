package explain

import (
	"fmt"

	"github.com/lockbench/lockbench/history"
)

// How the order of a node's commands was found.
const (
	dispatched = "the simulator's dispatch order"
	workedOut  = "worked out: an order that explains the recorded replies"
)

// Log is what the nodes of a run executed, one node after the other.
type Log struct {
	Source string
	Events []history.Executed
}

// Executed returns what the nodes of the run executed, in the order that the experiments used.
func (f Findings) Executed() Log {
	l, open := Log{Source: dispatched}, 0
	if f.run == nil {
		return l
	}
	for _, n := range f.run.nodes {
		for i := range n.events {
			e := &n.events[i]
			if e.cmd != nil && e.cmd.Turn == 0 {
				l.Source = workedOut
			}
			if e.open {
				open++
			}
			if e.corrects() {
				continue
			}
			l.Events = append(l.Events, f.run.executed(n.index, e))
		}
	}
	if open > 0 {
		l.Source += fmt.Sprintf(", but for %d", open)
	}
	return l
}

// Replay executes a record's commands again and returns their effects.
func Replay(rec Record, srv Server) Log {
	return Findings{run: newRun(rec, srv, func() bool { return false })}.Executed()
}

// executed describes one event.
func (r *run) executed(node int, e *event) history.Executed {
	out := history.Executed{Node: node, At: e.at, Open: e.open}
	switch {
	case e.cmd != nil:
		c := e.cmd
		out.Client, out.Conn, out.Op, out.Name, out.Script, out.Args, out.Reply = c.Client, c.Conn, c.Op, c.Name, c.Script, c.Args, c.Reply
	case e.effect != nil:
		out.Effect = e.effect.What
	default:
		out.Effect = history.Expired
	}
	for _, c := range e.changes {
		out.Changes = append(out.Changes, history.DataChange{Key: c.key, Before: r.datum(c.before, e.clock), After: r.datum(c.after, e.clock)})
	}
	return out
}

// datum describes a value; nil for none.
func (r *run) datum(v *Value, c clock) *history.Datum {
	if v == nil {
		return nil
	}
	d := history.Datum{Value: v.Text}
	switch {
	case v.Fields != nil:
		d.Value = v.Fields
	case v.Kind == "set":
		members := map[string]bool{}
		for _, m := range v.Items {
			members[m] = true
		}
		d.Value = members
	case v.Items != nil:
		d.Value = v.Items
	case v.Scores != nil:
		d.Value = v.Scores
	}
	if v.Expires != 0 {
		d.Until = v.Expires - r.m.epoch - c.offset
	}
	return &d
}
