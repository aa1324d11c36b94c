package sim

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// ran records when a node executed a command, its position, and what it changed.
func (w *world) ran(q *request, reply []byte) {
	n := q.conn.server
	if !q.handshake {
		n.turn++
		c := &q.conn.client.commands[q.command]
		c.Turn, c.Ran = n.turn, w.timeline()
	}
	changes := n.Changed()
	if len(changes) == 0 {
		return
	}
	w.noteEnds(n)
	e := effect{Executed: history.Executed{Changes: changes}}
	q.reply = replyText(reply)
	e.Reply = q.reply
	if q.handshake {
		c := commandOf(q)
		e.Client, e.Name, e.Script, e.Args = c.Client, c.Name, c.Script, c.Args
	} else {
		e.turn = n.turn
	}
	w.noteEffect(n, e)
}

// suffered records the effect of a fault on a node, now, and the leases that it ended. The caller
// has called endLeases.
func (w *world) suffered(n *node, what string, changes []history.DataChange) {
	w.noteEffect(n, effect{Executed: history.Executed{Effect: what, Changes: changes}})
	w.noteEnds(n)
}

func (w *world) noteEffect(n *node, e effect) {
	if number, addressed := w.numberOf(n); addressed {
		e.Node, e.At = number, max(w.timeline(), n.recorded)
		n.recorded = e.At
		w.effects = append(w.effects, e)
	}
}

// noteEnds records the leases that have ended at a node.
func (w *world) noteEnds(n *node) {
	ended := n.Ended()
	number, addressed := w.numberOf(n)
	if !addressed {
		return
	}
	for i := range ended {
		n.recorded = max(ended[i].Before.Until, n.recorded)
		w.effects = append(w.effects, effect{Executed: history.Executed{Node: number, At: n.recorded, Effect: history.Expired,
			Changes: ended[i : i+1 : i+1]}})
	}
}

// endLeases ends and records the leases of a node that are over.
func (w *world) endLeases(n *node) {
	n.Tick(w.clock())
	w.noteEnds(n)
}

// linked returns the effects of a run with what the record has of their commands.
func linked(effects []effect, commands []history.Command) []history.Executed {
	type place struct {
		node int
		turn uint64
	}
	at, out := make(map[place]int, len(effects)), make([]history.Executed, len(effects))
	for i, e := range effects {
		out[i] = e.Executed
		if e.turn != 0 {
			at[place{e.Node, e.turn}] = i
		}
	}
	for i := range commands {
		c := &commands[i]
		if j, has := at[place{c.Node, c.Turn}]; has && c.Turn != 0 {
			e := &out[j]
			e.Client, e.Conn, e.Op, e.Name, e.Script, e.Args = c.Client, c.Conn, c.Op, c.Name, c.Script, c.Args
		}
	}
	if byTime := func(a, b history.Executed) int { return int(a.At - b.At) }; !slices.IsSortedFunc(out, byTime) {
		slices.SortStableFunc(out, byTime) // the end of a lease is noticed late
	}
	return out
}
