package explain

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// newRun indexes a record. Where its effects are derived from commands whose order is open, the
// late ones are preferred or the early ones.
func newRun(ctx context.Context, rec Record, srv *fakeredis.Server, late bool) *run {
	r := &run{Record: rec, srv: srv, ops: map[uint64]*history.Operation{}, sent: map[uint64][]*history.Command{}, nodes: map[int]*node{}, clocks: map[argument]int64{}}
	if rec.Effects == nil && srv != nil {
		r.Effects, r.broken = effects.Derive(ctx, rec.events(), srv, late)
	}
	r.asks, r.Commands = effects.NewRequests(rec.Commands, rec.Scripts)
	for i := range r.Ops {
		r.ops[r.Ops[i].ID] = &r.Ops[i]
	}
	for i := range r.Commands {
		if c := &r.Commands[i]; c.Node >= 0 {
			r.sent[c.Op] = append(r.sent[c.Op], c)
			r.readClock(c)
		}
	}
	r.releases = history.ReleaseKinds(r.Ops, r.Commands)
	for _, list := range r.sent {
		slices.SortStableFunc(list, func(a, b *history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
	}
	for i := range r.Effects {
		x := &r.Effects[i]
		n := r.nodes[x.Node]
		if n == nil {
			n = &node{index: x.Node, byKey: map[string][]int{}, byOp: map[uint64][]int{}}
			r.nodes[x.Node] = n
		}
		e, at := event{Executed: x}, len(n.events)
		if x.Effect == "" {
			e.op, e.cmd = r.ops[x.Op], r.commandOf(x)
			n.byOp[x.Op] = append(n.byOp[x.Op], at)
		}
		n.events = append(n.events, e)
		for _, c := range x.Changes {
			n.byKey[c.Key] = append(n.byKey[c.Key], at)
		}
	}
	r.findHolds()
	return r
}

// commandOf returns the recorded command that a node executed; nil: none.
func (r *run) commandOf(x *history.Executed) (found *history.Command) {
	sent := r.sent[x.Op]
	after, _ := slices.BinarySearchFunc(sent, x.At+1, func(c *history.Command, at int64) int { return cmp.Compare(c.Sent, at) })
	for _, c := range slices.Backward(sent[:after]) {
		whole := c.Name == "MULTI" && x.Name == "EXEC"
		if c.Node != x.Node || c.Client != x.Client || x.Conn != 0 && c.Conn != x.Conn || !whole && (c.Name != x.Name || !slices.Equal(c.Args, x.Args)) {
			continue
		}
		if c.Ran == x.At || c.Ran == 0 && (c.Replied == 0 || c.Replied >= x.At) {
			return c
		}
	}
	return nil
}

// known reports whether the effects around some requests are known.
func (r *run) known(tries ...[]query) bool {
	for _, try := range tries {
		for i := range try {
			if at, is := r.broken[try[i].node.index]; is && try[i].at >= at {
				return false
			}
		}
	}
	return true
}

// events returns what the effects of a record are derived from.
func (rec *Record) events() effects.Record {
	out := effects.Record{Header: rec.Header, Commands: rec.Commands, Scripts: rec.Scripts, Faults: rec.Faults}
	for i := range rec.Ops {
		out.End = max(out.End, rec.Ops[i].Return)
	}
	return out
}

// Derive works out what the nodes of a record executed, from its commands.
func Derive(ctx context.Context, rec Record, srv *fakeredis.Server) []history.Executed {
	all, _ := effects.Derive(ctx, rec.events(), srv, false)
	return all
}
