package explain

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Record is what a run recorded.
type Record struct {
	Header   history.Header
	Ops      []history.Operation // with their ids
	Commands []history.Command   // of the lock; those of a guarded store, whose node is negative, are skipped
	Scripts  map[string]string   // sources by digest
	Faults   []history.Window
	Effects  []history.Executed // what each node executed, in its order; nil: not recorded
}

// events returns what the effects of a record are derived from.
func (rec *Record) events() effects.Record {
	out := effects.Record{Header: rec.Header, Commands: rec.Commands, Scripts: rec.Scripts, Faults: rec.Faults}
	for i := range rec.Ops {
		out.End = max(out.End, rec.Ops[i].Return)
	}
	return out
}

// run is a record with its indexes.
type run struct {
	Record
	srv    *fakeredis.Server
	asks   *effects.Requests
	ops    map[uint64]*history.Operation
	sent   map[uint64][]*history.Command // by operation, as sent
	nodes  map[int]*node
	holds  []*hold // by grant
	nobody bool    // no acquire of the run was granted

	broken   map[int]int64      // from when on the effects of a node are not known
	releases map[string]bool    // kinds of commands that releases send
	clocks   map[argument]int64 // how far the times in requests are ahead of true time, at most
}

// node is what one node executed, in order.
type node struct {
	index  int
	events []event
	byKey  map[string][]int // the events that changed a key
	byOp   map[uint64][]int
}

// event is a command, the effect of a fault, or the end of a lease at a node, in the node's order.
type event struct {
	*history.Executed
	op  *history.Operation // in which a command was sent; nil: in the background
	cmd *history.Command   // nil: not a recorded command
}

// newRun indexes a record. Where its effects are derived from commands whose order is open, the
// late ones are preferred or the early ones.
func newRun(ctx context.Context, rec Record, srv *fakeredis.Server, late bool) *run {
	r := &run{Record: rec, srv: srv, ops: map[uint64]*history.Operation{}, sent: map[uint64][]*history.Command{}, nodes: map[int]*node{}, releases: map[string]bool{}, clocks: map[argument]int64{}}
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
			if op := r.ops[c.Op]; op != nil && op.Op == history.Release && resp.IsWrite(c.Name) {
				r.releases[kindOf(c.Name, c.Script)] = true
			}
		}
	}
	for _, list := range r.sent {
		slices.SortStableFunc(list, func(a, b *history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
	}
	for i := range r.Effects {
		r.add(&r.Effects[i])
	}
	r.findHolds()
	return r
}

// add appends an event to its node.
func (r *run) add(x *history.Executed) {
	n := r.nodes[x.Node]
	if n == nil {
		n = &node{index: x.Node, byKey: map[string][]int{}, byOp: map[uint64][]int{}}
		r.nodes[x.Node] = n
	}
	e, i := event{Executed: x}, len(n.events)
	if x.Effect == "" {
		e.op, e.cmd = r.ops[x.Op], r.commandOf(x)
		n.byOp[x.Op] = append(n.byOp[x.Op], i)
	}
	n.events = append(n.events, e)
	for _, c := range x.Changes {
		n.byKey[c.Key] = append(n.byKey[c.Key], i)
	}
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

// by returns how many events a node had executed up to an instant.
func (n *node) by(at int64) int {
	i, _ := slices.BinarySearchFunc(n.events, at, func(e event, at int64) int {
		if e.At <= at {
			return -1
		}
		return 1
	})
	return i
}

// value returns a key's value before the i-th event, and the event that left it so; -1: none.
func (n *node) value(key string, i int) (v *history.Datum, by int) {
	changed := n.byKey[key]
	at, _ := slices.BinarySearch(changed, i)
	if at == 0 {
		if len(changed) > 0 { // what was there before the record's first change of it
			return n.change(changed[0], key).Before, -1
		}
		return nil, -1
	}
	by = changed[at-1]
	return n.change(by, key).After, by
}

// change returns what an event did to a key; the key is one that it changed.
func (n *node) change(i int, key string) *history.DataChange {
	all := n.events[i].Changes
	return &all[slices.IndexFunc(all, func(c history.DataChange) bool { return c.Key == key })]
}

// part names a part of a key: a field, a member, an item, or "" for a string.
type part struct{ key, name string }

// data returns what a value has in a part.
func data(d *history.Datum, name string) (text string, there bool) {
	text, there = d.Parts()[name]
	return text, there
}

// kindOf names a kind of command: the script that it runs, sent by its source or its digest, or
// else its name.
func kindOf(name, script string) string { return cmp.Or(script, name) }

// Derive works out what the nodes of a record executed, from its commands.
func Derive(ctx context.Context, rec Record, srv *fakeredis.Server) []history.Executed {
	all, _ := effects.Derive(ctx, rec.events(), srv, false)
	return all
}
