package effects

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// Join returns what the servers of a run executed and changed, from their logs. It ends early, with
// the error of ctx, when ctx ends.
func Join(ctx context.Context, rec Record) ([]history.Executed, error) {
	server, err := fakeredis.New()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	all, _ := Derive(ctx, rec, server, false)
	slices.SortStableFunc(all, func(a, b history.Executed) int { return cmp.Compare(a.At, b.At) })
	if rec.Header.Copies {
		attribute(all)
	}
	return all, ctx.Err()
}

// mostDerived is how many commands are worth executing once more without a log.
const mostDerived = 100_000

// Derive returns what the nodes of a record executed, each node's in its order. Where replies leave
// the order of commands open, the early ones come first or the late ones. Without a log, it also
// returns the nodes with a reply that no order gives, and when it was: they have no events from
// there on. When ctx ends, Derive returns what it has.
func Derive(ctx context.Context, rec Record, server *fakeredis.Server, late bool) (all []history.Executed, broken map[int]int64) {
	broken = map[int]int64{}
	if rec.Logs == nil && len(rec.Commands) > mostDerived {
		return nil, broken
	}
	var asks *Requests
	asks, rec.Commands = NewRequests(rec.Commands, rec.Scripts)
	nodes := map[int]bool{}
	for i := range rec.Commands {
		nodes[rec.Commands[i].Node] = true
	}
	for i := range rec.Logs {
		nodes[rec.Logs[i].Node] = true
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		if node < 0 { // the guarded store
			continue
		}
		d := deriver{Record: rec, node: node, asks: asks, late: late, state: state{at: math.MinInt64},
			data: data{server: server, epoch: rec.Header.Epoch, keys: map[string]*fakeredis.Entry{}}}
		all = append(all, d.run(ctx)...)
		if d.broken {
			broken[node] = d.brokenAt
		}
	}
	return all, broken
}

func (d *deriver) run(ctx context.Context) (out []history.Executed) {
	d.effects = OfFaults(d.Faults, d.node)
	if d.Logs != nil {
		d.readLog()
	}
	d.order()
	d.done = make([]bool, len(d.todo)+len(d.loose))
	if d.search(ctx) && ctx.Err() == nil {
		for len(d.effects) > 0 {
			d.suffer(d.effects[0])
		}
		d.expire(math.MaxInt64)
	}
	events := d.events[:d.n]
	if d.log != nil { // times that fit their order
		for i := len(events) - 2; i >= 0; i-- {
			events[i].to = min(events[i].to, events[i+1].to)
		}
		last := int64(math.MinInt64)
		for i := range events {
			e := &events[i]
			last = max(last, min(max(e.At, e.from), max(e.to, e.from)))
			e.At = last
		}
	}
	for _, e := range events {
		out = append(out, e.Executed)
	}
	return out
}

// order finds the commands that the node executed, in the order of their turns or else in that in
// which they were sent.
func (d *deriver) order() {
	turns := d.log == nil && !slices.ContainsFunc(d.Commands, func(c history.Command) bool { return c.Node == d.node && c.Turn == 0 && c.Replied != 0 })
	for i := range d.Commands {
		c := &d.Commands[i]
		switch {
		case c.Node != d.node || turns && c.Turn == 0:
		case turns:
			d.todo = append(d.todo, timed{Command: c, at: c.Ran, from: c.Ran})
		default:
			if t, arrived := d.midpoint(c); arrived && d.log != nil && c.Replied == 0 {
				d.loose = append(d.loose, t)
			} else if arrived {
				d.todo = append(d.todo, t)
			}
		}
	}
	slices.SortStableFunc(d.todo, func(a, b timed) int {
		if turns {
			return cmp.Compare(a.Turn, b.Turn)
		}
		return cmp.Compare(a.Sent, b.Sent)
	})
	slices.SortStableFunc(d.loose, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
}

// midpoint returns when a node most likely executed a command, and whether that is likely at all.
func (d *deriver) midpoint(c *history.Command) (t timed, arrived bool) {
	from := c.Sent
	for i := range d.Faults {
		w := &d.Faults[i]
		if !w.Confirmed || w.Node >= 0 && w.Node != d.node || w.Client != "" && w.Client != c.Client {
			continue
		}
		switch {
		// the proxy saw it when it lost it
		case d.log == nil && w.Does.Any(history.LosesRequests) && c.Replied == 0 && c.Sent <= w.Start && w.Start < c.Sent+int64(time.Second):
			return t, false
		case w.Held(c, Grain):
			from = max(from, w.Ending)
		}
	}
	switch {
	case c.Replied == 0:
		return timed{Command: c, at: from + Grain/10, from: from}, true
	case c.Waits(): // it was executed when there was data
		return timed{Command: c, at: c.Replied, from: from}, true
	}
	return timed{Command: c, at: from + (c.Replied-from)/2, from: from}, true
}

// attribute gives what nodes copied from their primary its client and its time: those of the next
// event of another node that a client's command made and that did the same, since nodes copy in
// order. Events are in the order of their times.
func attribute(all []history.Executed) {
	made := map[string][]int{} // what clients' commands did
	for i := range all {
		if all[i].Client != "" {
			made[did(&all[i])] = append(made[did(&all[i])], i)
		}
	}
	// by node: after the event that it copied last, and the time of its last event
	next, now := map[int]int{}, map[int]int64{}
	for i := range all {
		e := &all[i]
		if e.Client == "" && e.Effect == "" && len(e.Changes) > 0 {
			for _, j := range made[did(e)] {
				if of := &all[j]; of.Node != e.Node && j >= next[e.Node] && of.At <= e.At+4*apart {
					next[e.Node] = j + 1
					e.At, e.Client, e.Op, e.Name, e.Script, e.Args, e.Reply, e.Copied = of.At, of.Client, of.Op, of.Name, of.Script, of.Args, of.Reply, true
					break
				}
			}
		}
		e.At = max(e.At, now[e.Node])
		now[e.Node] = e.At
	}
	slices.SortStableFunc(all, func(a, b history.Executed) int { return cmp.Compare(a.At, b.At) })
}

// did returns what an event did to the data, as text.
func did(e *history.Executed) (text string) {
	for _, c := range e.Changes {
		text += fmt.Sprintf("%q", c.Key)
		for _, d := range []*history.Datum{c.Before, c.After} {
			if text += "|"; d != nil {
				text += fmt.Sprint(d.Value)
			}
		}
	}
	return text
}
