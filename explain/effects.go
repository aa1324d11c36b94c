package explain

import (
	"cmp"
	"context"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Derive returns what the nodes of a record executed, for a record without effects: each node's
// commands, executed on an embedded server in the order of their turns or, where those are not
// recorded, in the order nearest to that of the midpoints between request and reply in which all are
// replied as recorded. If none is found, the node has no effects from there on.
func Derive(ctx context.Context, rec Record, srv *fakeredis.Server) []history.Executed {
	asks := newRequests(&rec)
	events, _ := derive(ctx, rec, asks, srv, false)
	return events
}

// mostDerived is the number of commands that are worth to be executed once more: they take some
// seconds.
const mostDerived = 100_000

// derive also returns the nodes with a reply that differs, and when it was. When ctx ends, it
// returns what it has.
func derive(ctx context.Context, rec Record, asks *requests, srv *fakeredis.Server, late bool) (all []history.Executed, broken map[int]int64) {
	broken = map[int]int64{}
	if len(rec.Commands) > mostDerived {
		return nil, broken
	}
	for _, node := range rec.nodes() {
		d := deriver{Record: rec, late: late, asks: asks, node: node, state: state{m: machine{srv: srv, epoch: rec.Header.Epoch, values: values{}}}}
		all = append(all, d.run(ctx)...)
		if d.broken {
			broken[node] = d.brokenAt
		}
	}
	return all, broken
}

// grain is how exactly, in nanoseconds, the end of a lease is known where the instant of a command
// lies between its request and its reply.
const grain = 3_000_000

// deriver executes the commands of one node.
type deriver struct {
	Record
	asks   *requests
	node   int
	todo   []timed // its commands, by their instants
	late   bool    // of those that may be next, the last comes first
	done   []bool
	events []derived
	state

	broken   bool
	brokenAt int64
}

// derived is an event, and how long its command was under way.
type derived struct {
	history.Executed
	open int64
}

// state is how far a derivation is.
type state struct {
	m       machine
	at      int64
	n       int               // events
	effects []*history.Effect // those still to come
	clock   history.Clock
	past    []values // the data after each event, with
	pastAt  []stamp  // its turn and time; they are kept where the order is known
}

type stamp struct {
	turn uint64
	at   int64
}

func (d *deriver) run(ctx context.Context) (out []history.Executed) {
	d.effects = d.effectsOn(d.node)
	d.todo = d.order()
	d.done = make([]bool, len(d.todo))
	d.at = math.MinInt64
	if d.search(ctx) {
		for len(d.effects) > 0 {
			d.suffer(d.effects[0])
		}
		d.expire(math.MaxInt64)
	}
	for _, e := range d.events[:d.n] {
		out = append(out, e.Executed)
	}
	return out
}

// step executes a command, after the effects of faults that come first, and reports whether it was
// replied as recorded.
func (d *deriver) step(c timed) bool {
	d.at = max(d.at, c.at)
	for len(d.effects) > 0 && d.comesFirst(d.effects[0], c.Command, d.at) {
		d.suffer(d.effects[0])
	}
	return d.execute(c.Command, d.at)
}

// comesFirst reports whether an effect precedes a command.
func (d *deriver) comesFirst(e *history.Effect, c *history.Command, at int64) bool {
	if e.Known && c.Turn != 0 && e.At == at && e.What != history.Restarted && e.What != history.Promoted {
		return e.Turn < c.Turn
	}
	return e.At <= at
}

// timed is a command with the instant at which its node is taken to have executed it.
type timed struct {
	*history.Command
	at int64
}

// order returns the commands that the node executed, in order.
func (d *deriver) order() (out []timed) {
	turns := !slices.ContainsFunc(d.Commands, func(c history.Command) bool { return c.Node == d.node && c.Turn == 0 && c.Replied != 0 })
	for i := range d.Commands {
		c := &d.Commands[i]
		switch {
		case c.Node != d.node || turns && c.Turn == 0:
		case turns:
			out = append(out, timed{c, c.Ran})
		default:
			if at, arrived := d.midpoint(c); arrived {
				out = append(out, timed{c, at})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b timed) int {
		if turns {
			return cmp.Compare(a.Turn, b.Turn)
		}
		return cmp.Compare(a.at, b.at)
	})
	return out
}

// midpoint returns when a node most likely executed a command, and whether that is likely at all.
func (d *deriver) midpoint(c *history.Command) (at int64, arrived bool) {
	from := c.Sent
	for i := range d.Faults {
		w := &d.Faults[i]
		if !w.Confirmed || w.Node >= 0 && w.Node != d.node || w.Client != "" && w.Client != c.Client {
			continue
		}
		switch {
		// the proxy saw it when it lost it
		case w.Does.Any(history.LosesRequests) && c.Replied == 0 && c.Sent <= w.Start && w.Start < c.Sent+int64(time.Second):
			return 0, false
		case w.Held(c, grain):
			from = max(from, w.Ending)
		}
	}
	switch {
	case c.Replied == 0:
		return from + grain/10, true
	case c.Waits(): // it was executed when there was data
		return c.Replied, true
	}
	return from + (c.Replied-from)/2, true
}

// execute executes a command and reports whether it was replied as recorded.
func (d *deriver) execute(c *history.Command, at int64) bool {
	d.expire(at)
	before, own := d.m.values, d.clock.At(at)
	ask := d.asks.of(c)
	if ask == nil || c.Failed() {
		d.add(c, at, nil)
		return true
	}
	same := func(reply string) bool {
		return c.Replied == 0 && c.Turn == 0 || c.Reply == "" || alike(c, reply, near(c, func() []lease { return d.leases(before, own) }))
	}
	reply, changes := d.m.do(ask, own)
	if !same(reply) && c.Turn == 0 { // a lease that ends about now may have ended just before, or not yet
		for left := int64(-1e6 / 2); left < grain; left += 1e6 { // replies tell what is left in milliseconds
			d.m.values = d.about(before, at, own, left)
			if reply, changes = d.m.do(ask, own); same(reply) {
				break
			}
		}
	}
	if !same(reply) {
		d.m.values = before
		return false
	}
	d.add(c, at, changes)
	return true
}

// about returns data with what ended within grain before an instant, which still has some time left
// or, if that is negative, without what ends within grain.
func (d *deriver) about(data values, at, own, left int64) values {
	out := maps.Clone(data)
	for key, v := range data {
		if left < 0 && v.Until != 0 && v.Until <= own+grain {
			delete(out, key)
		}
	}
	for i := d.n - 1; left >= 0 && i >= 0 && d.events[i].At > at-grain; i-- {
		if e := &d.events[i]; e.Effect == history.Expired {
			for _, c := range e.Changes {
				if out[c.Key] == nil {
					out[c.Key] = &history.Datum{Value: c.Before.Value, Until: own + left}
				}
			}
		}
	}
	return out
}

func (d *deriver) add(c *history.Command, at int64, changes []history.DataChange) {
	e := history.Executed{Node: d.node, At: at, Client: c.Client, Conn: c.Conn, Op: c.Op, Name: c.Name, Script: c.Script, Args: c.Args, Reply: c.Reply}
	d.push(e, c.Replied-c.Sent, changes)
	d.note(c.Turn, at)
}

// note keeps the data for a promotion, which may go back to them.
func (d *deriver) note(turn uint64, at int64) {
	if slices.ContainsFunc(d.effects, func(e *history.Effect) bool { return e.What == history.Promoted || e.What == history.Restarted }) {
		d.past, d.pastAt = append(d.past, maps.Clone(d.m.values)), append(d.pastAt, stamp{turn, at})
	}
}

func (d *deriver) push(e history.Executed, open int64, changes []history.DataChange) {
	for _, c := range changes {
		e.Changes = append(e.Changes, history.DataChange{Key: c.Key, Before: d.timed(c.Before), After: d.timed(c.After)})
	}
	d.events, d.n = append(d.events[:d.n], derived{e, open}), d.n+1
}

// timed returns a value with its end by true time.
func (d *deriver) timed(v *history.Datum) *history.Datum {
	if v == nil || v.Until == 0 {
		return v
	}
	return &history.Datum{Value: v.Value, Until: d.clock.When(v.Until)}
}

// expire adds the ends of leases up to an instant. The clock may have been set since a lease was
// given.
func (d *deriver) expire(by int64) {
	for {
		var first string
		at := int64(math.MaxInt64)
		for key, v := range d.m.values {
			if v.Until == 0 {
				continue
			}
			if end := d.clock.When(v.Until); end < at || end == at && key < first {
				first, at = key, end
			}
		}
		if first == "" || at > by || by == math.MaxInt64 && at > d.end() {
			return
		}
		if d.n > 0 {
			at = max(at, d.events[d.n-1].At)
		}
		gone := history.DataChange{Key: first, Before: d.m.values[first]}
		d.m.values = maps.Clone(d.m.values)
		delete(d.m.values, first)
		d.push(history.Executed{Node: d.node, At: at, Effect: history.Expired}, 0, []history.DataChange{gone})
	}
}

// end returns when the record ends.
func (d *deriver) end() (end int64) {
	for i := range d.Ops {
		end = max(end, d.Ops[i].Return)
	}
	return end
}

// suffer adds the effect of a fault.
func (d *deriver) suffer(e *history.Effect) {
	d.effects = d.effects[1:]
	d.expire(e.At)
	d.clock = d.clock.After(e)
	before := d.m.values
	d.m.values = maps.Clone(before)
	switch e.What {
	case history.Deleted, history.Evicted:
		for _, key := range e.Lost {
			delete(d.m.values, key)
		}
	case history.Restarted, history.Promoted:
		d.m.values = d.kept(e)
	}
	d.push(history.Executed{Node: d.node, At: e.At, Effect: e.What}, 0, difference(before, d.m.values))
	d.note(e.Turn, e.At)
}

// kept returns the data that a restart or a promotion kept: those after a turn or, if that is not
// known, the latest of the keys recorded as kept.
func (d *deriver) kept(e *history.Effect) (kept values) {
	kept = values{}
	if e.Known {
		for i, s := range d.pastAt {
			if s.turn <= e.Turn && s.turn != 0 {
				kept = d.past[i]
			}
		}
		return kept
	}
	if len(e.Kept) > 0 {
		kept = maps.Clone(d.m.values)
	}
	for _, key := range e.Lost {
		delete(kept, key)
	}
	return kept
}

// values are a node's data by key, with ends by its own clock.
type values map[string]*history.Datum

// machine is a node's data, and the server that executes commands on them.
type machine struct {
	srv    *fakeredis.Server
	epoch  int64
	values values // replaced, never changed
}

// do executes a request at an instant of the node's own clock, and returns its reply and its
// changes.
func (m *machine) do(r request, own int64) (reply string, changes []history.DataChange) {
	base := time.Unix(0, m.epoch)
	now := base.Add(time.Duration(own))
	m.srv.Load(now, base, m.values)
	var raw []byte
	for _, args := range r {
		raw = m.srv.Do(now, args)
	}
	got, _ := resp.ParseReply(raw)
	m.values = maps.Clone(m.values)
	changes = m.srv.Changed()
	for _, c := range changes {
		if m.values[c.Key] = c.After; c.After == nil {
			delete(m.values, c.Key)
		}
	}
	return got.Line(history.MaxReply), changes
}

// difference returns what changed between two states, by key.
func difference(before, after values) (changes []history.DataChange) {
	for key, v := range before {
		if now := after[key]; !reflect.DeepEqual(v, now) {
			changes = append(changes, history.DataChange{Key: key, Before: v, After: now})
		}
	}
	for key, v := range after {
		if before[key] == nil {
			changes = append(changes, history.DataChange{Key: key, After: v})
		}
	}
	slices.SortFunc(changes, func(a, b history.DataChange) int { return strings.Compare(a.Key, b.Key) })
	return changes
}
