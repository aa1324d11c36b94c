package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// findHolds pairs the operations of each client on each key.
func (r *run) findHolds() {
	type who struct{ client, key string }
	open := map[who][]*hold{}
	ops := make([]*history.Operation, 0, len(r.Ops))
	for i := range r.Ops {
		ops = append(ops, &r.Ops[i])
	}
	slices.SortStableFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range ops {
		w := who{op.Client, op.Key}
		if op.Op == history.Acquire && op.Outcome == history.OK {
			h := &hold{op: op, granted: r.grantedAt(op)}
			if n := len(open[w]); n > 0 {
				h.outer = open[w][n-1]
			}
			open[w], r.holds = append(open[w], h), append(r.holds, h)
			continue
		}
		i := len(open[w]) - 1
		for ; i >= 0 && op.Token != "" && open[w][i].op.Token != op.Token; i-- {
		}
		switch {
		case i < 0:
		case op.Op == history.Extend && r.Header.Kind == history.Reentrant: // it renews all of them
			for _, h := range open[w] {
				h.extends = append(h.extends, op)
			}
		case op.Op == history.Extend:
			open[w][i].extends = append(open[w][i].extends, op)
		case op.Op == history.Lost:
			open[w][i].lost = op.Call
		case op.Op == history.Release:
			open[w][i].release = cmp.Or(open[w][i].release, op)
			if op.Outcome != history.Fail {
				open[w] = slices.Delete(open[w], i, i+1)
			}
		}
	}
	slices.SortStableFunc(r.holds, func(a, b *hold) int { return cmp.Compare(a.granted, b.granted) })
}

// holdOf returns the hold that an operation began, extended or released; nil: none.
func (r *run) holdOf(op *history.Operation) *hold {
	for _, h := range r.holds {
		if h.op == op || h.release == op || slices.Contains(h.extends, op) {
			return h
		}
	}
	return nil
}

// heldAt returns a client's latest hold on a key that was granted by an instant; nil: none.
func (r *run) heldAt(client, key string, at int64) (last *hold) {
	for _, h := range r.holds {
		if h.op.Client == client && h.op.Key == key && h.op.Return <= at {
			last = h
		}
	}
	return last
}

// grantedAt returns when the nodes granted an acquire or an extend: by the last request that set
// something, or took what others had set, as a POP takes a message; else by the last that only took
// back what the acquire had set, as one that leaves a queue; if no commands show that, when its
// client was told.
func (r *run) grantedAt(op *history.Operation) int64 {
	at, did, its := op.Return, 0, map[part]bool{}
	for _, q := range r.try(op, math.MaxInt64) {
		does := 1
		if q.event != nil && len(q.event.Changes) > 0 {
			does = 2
			for i := range q.event.Changes {
				c := &q.event.Changes[i]
				for p := range set(c) {
					its[p], does = true, 3
				}
				for name := range c.Before.Parts() {
					if _, kept := data(c.After, name); !kept && !its[part{c.Key, name}] {
						does = 3
					}
				}
			}
		}
		if q.at <= op.Return && (does > did || does == did && q.at > at) {
			at, did = q.at, does
		}
	}
	return at
}

// told returns until when a client believed that it held, by what it had been told up to an
// instant.
func (r *run) told(h *hold, by int64) int64 {
	until := r.toldBy(h.op)
	for _, x := range h.extends {
		if x.Outcome == history.OK && x.Return <= by {
			until = max(until, r.toldBy(x))
		}
	}
	if h.lost != 0 && h.lost <= by {
		until = min(until, h.lost)
	}
	return until
}

// toldBy returns until when a reply let its client believe.
func (r *run) toldBy(op *history.Operation) int64 {
	asked := op.Call
	if op.Op == history.Acquire && op.WasAsked() {
		asked = op.Asked
	} else if try := r.try(op, math.MaxInt64); op.Op == history.Acquire && len(try) > 0 {
		asked = try[0].cmd.Sent
	}
	switch {
	case op.ValidUntil != 0:
		return op.ValidUntil
	case r.Header.Lease == 0:
		return math.MaxInt64
	}
	return asked + r.Header.Lease - r.Header.Drift
}

// try returns the requests of an operation's last try by an instant, in the order in which they
// were sent. A request that repeats an earlier one began another try.
func (r *run) try(op *history.Operation, by int64) (all []query) {
	type asked struct {
		node              int
		name, script, key string
	}
	var seen []asked
	sent := r.sent[op.ID]
	for i := len(sent) - 1; i >= 0; i-- {
		c := sent[i]
		if c.Sent > by || c.Sent > op.Return || c.Failed() || r.asks.Of(c) == nil {
			continue
		}
		late := max(effects.Grain, r.Header.ClockError) // a child tells it by its own clock
		if op.Op == history.Acquire && op.Outcome == history.OK && op.WasAsked() && by >= op.Asked && c.Sent < op.Asked-late {
			break
		}
		a := asked{c.Node, c.Name, c.Script, ""}
		if keys := resp.Keys(append([]string{c.Name}, c.Args...)); len(keys) > 0 {
			a.key = keys[0]
		}
		if r.Header.Copies { // it asks whichever is the primary
			a.node = 0
		}
		if slices.Contains(seen, a) {
			break
		}
		seen, all = append(seen, a), append(all, r.queryOf(c))
	}
	slices.Reverse(all)
	return all
}

// queryOf finds a command at its node.
func (r *run) queryOf(c *history.Command) query {
	n := r.nodes[c.Node]
	q := query{cmd: c, node: n, at: c.Ran}
	if n == nil {
		q.node = &node{index: c.Node}
		q.at = max(c.Ran, c.Sent)
		return q
	}
	for _, i := range n.byOp[c.Op] {
		if n.events[i].cmd == c {
			q.event, q.pos, q.at = &n.events[i], i, n.events[i].At
			return q
		}
	}
	if q.at == 0 {
		if q.at = c.Sent; c.Replied != 0 {
			q.at += (c.Replied - c.Sent) / 2
		}
	}
	q.pos = n.by(q.at)
	for c.Turn != 0 && q.pos > 0 && n.events[q.pos-1].cmd != nil && n.events[q.pos-1].cmd.Turn > c.Turn {
		q.pos--
	}
	if c.Turn == 0 && c.Replied != 0 {
		r.fit(&q)
	}
	return q
}

const mostPlaces = 64

// fit moves a command that changed nothing, and whose turn is not known, to the nearest place
// between its request and its reply at which it is replied as recorded, if one of mostPlaces is.
func (r *run) fit(q *query) {
	first, last := q.node.by(q.cmd.Sent), q.node.by(q.cmd.Replied)
	for off := 0; first < last && off <= min(last-first, mostPlaces/2); off++ {
		for _, pos := range []int{q.pos - off, q.pos + off} {
			if pos < first || pos > last {
				continue
			}
			at := *q
			if at.pos = pos; pos > first {
				at.at = max(at.at, q.node.events[pos-1].At)
			}
			if pos < last {
				at.at = min(at.at, q.node.events[pos].At-1)
			}
			if reply, _ := r.ask(&at, nil, nil, r.own(at.node, at.at)); reply == q.cmd.Reply {
				*q = at
				return
			}
		}
	}
}
