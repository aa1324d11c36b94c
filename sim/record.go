package sim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// note adds a step to the schedule of a run whose trace is kept, and returns its number.
func (w *world) note(s faults.Step) int {
	if !w.trace.keep {
		return 0
	}
	s.ID, s.At = len(w.out.Schedule)+1, w.timeline()
	w.out.Schedule = append(w.out.Schedule, s)
	return s.ID
}

func (w *world) noteRequest(q *request, lost bool) {
	if !w.trace.keep {
		return // before making the step, which costs more than the event
	}
	q.noted = w.note(q.step(faults.Step{Kind: faults.StepRequest, Sent: q.sent, Lost: lost}))
}

// noteReply skips messages to subscribers, which are not in a schedule.
func (w *world) noteReply(r *reply, lost bool) {
	if w.trace.keep && r.request != nil {
		w.note(r.request.step(faults.Step{Kind: faults.StepReply, Of: r.request.noted, Lost: lost}))
	}
}

// step fills in the client, node and command of a message.
func (q *request) step(s faults.Step) faults.Step {
	c := commandOf(q)
	s.Client, s.Node, s.Command = c.Client, c.Node, c.Name
	if strings.HasPrefix(c.Name, "EVAL") {
		s.Command += " " + c.Args[0]
	}
	return s
}

// StoreNode is the node number of the guarded store, which is not one of the lock's nodes.
const StoreNode = -1

func commandOf(q *request) history.Command {
	w, args := q.conn.world, q.args[1:]
	c := history.Command{Client: q.conn.client.name, Node: q.conn.target(), Sent: q.sent, Name: q.name, Cut: len(args) > history.MaxArgs}
	c.Args = slices.Clone(args[:min(len(args), history.MaxArgs)])
	switch {
	case strings.HasPrefix(q.name, "EVAL") && len(args) > 0:
		if c.Script = strings.ToLower(args[0]); !strings.HasPrefix(q.name, "EVALSHA") {
			c.Script = w.source(args[0])
		}
		c.Args[0] = cmp.Or(w.names[c.Script], c.Script)
	case q.name == "SCRIPT" && len(args) > 1 && strings.EqualFold(args[0], "load"):
		c.Args[1] = w.source(args[1])
	}
	for i, a := range c.Args {
		c.Cut = c.Cut || len(a) > history.MaxArg
		c.Args[i] = a[:min(len(a), history.MaxArg)]
	}
	return c
}

// replyText returns a reply as one line, for the record.
func replyText(b []byte) string {
	r, ok := resp.ParseReply(b)
	if !ok {
		return ""
	}
	return r.Line(history.MaxReply)
}

// target returns the number of the node to which a connection leads.
func (cn *conn) target() int {
	if cn.node == cn.world.storeIndex() {
		return StoreNode
	}
	return cn.node
}

// source keeps the source of a script and returns its digest.
func (w *world) source(text string) (digest string) {
	digest = w.nodes[0].Digest(text)
	w.sources[digest] = text
	return digest
}
