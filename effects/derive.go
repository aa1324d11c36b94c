package effects

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// Record is what is known of a run.
type Record struct {
	Header   history.Header
	Commands []history.Command // with their operations
	Scripts  map[string]string // sources by digest
	Faults   []history.Window
	Logs     []history.Logged // what the servers wrote; nil: theirs are not ours to read
	End      int64            // of the run
	// Skip, when set, reports that a key is none of the lock's: the guarded store may be on the
	// same server.
	Skip func(key string) bool
}

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

// Grain is how exactly, in nanoseconds, the end of a lease is known where the instant of a command
// lies between its request and its reply.
const Grain = 3_000_000

// deriver finds what one node executed.
type deriver struct {
	Record
	data
	state
	node   int
	asks   *Requests
	late   bool
	todo   []timed  // its commands, by their instants; of a node with a log, those that were replied
	loose  []timed  // the others of a node with a log
	done   []bool   // of both
	conns  []uint64 // of those that choice has looked at
	events []derived

	log     []*history.Logged // nil: none
	dated   bool              // it gives leases, and so tells when commands came
	ahead   *outcome          // what comes next in it
	strikes []*strike         // deletions, evictions and restarts by faults

	broken   bool
	brokenAt int64
}

// timed is a command with the instant at which its node is taken to have executed it, which is not
// before from.
type timed struct {
	*history.Command
	at, from int64
}

// derived is an event with what it did, how long its command was under way, and its turn. From a
// log its time is only known to be from one instant to another.
type derived struct {
	history.Executed
	puts     []put
	open     int64
	turn     uint64
	strike   *strike
	from, to int64
}

// state is how far a derivation is.
type state struct {
	at      int64             // with a log: not before this
	n       int               // events
	effects []*history.Effect // those still to come
	clock   history.Clock
	place   // in the log
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
	if d.log != nil {
		d.inOrder()
	}
	for _, e := range d.events[:d.n] {
		out = append(out, e.Executed)
	}
	return out
}

// OfFaults returns what faults did to a node, by time.
func OfFaults(faults []history.Window, node int) (out []*history.Effect) {
	for i := range faults {
		for j := range faults[i].Effects {
			if e := &faults[i].Effects[j]; e.Node == node {
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *history.Effect) int { return cmp.Compare(a.At, b.At) })
	return out
}

// order finds the commands that the node executed, in the order of their turns or else of the
// midpoints between request and reply.
func (d *deriver) order() {
	turns := d.log == nil && !slices.ContainsFunc(d.Commands, func(c history.Command) bool { return c.Node == d.node && c.Turn == 0 && c.Replied != 0 })
	for i := range d.Commands {
		c := &d.Commands[i]
		switch {
		case c.Node != d.node || turns && c.Turn == 0:
		case turns:
			d.todo = append(d.todo, timed{c, c.Ran, c.Ran})
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
		return cmp.Compare(a.at, b.at)
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
		return timed{c, from + Grain/10, from}, true
	case c.Waits(): // it was executed when there was data
		return timed{c, c.Replied, from}, true
	}
	return timed{c, from + (c.Replied-from)/2, from}, true
}

// execute executes a command, after the effects of faults that come first, and reports whether it
// was replied as recorded.
func (d *deriver) execute(c timed) bool {
	d.at = max(d.at, c.at)
	for len(d.effects) > 0 && d.comesFirst(d.effects[0], c.Command) {
		d.suffer(d.effects[0])
	}
	d.expire(d.at)
	ask := d.asks.Of(c.Command)
	if ask == nil || c.Failed() {
		d.push(d.at, derived{Executed: d.executed(c.Command), open: c.Replied - c.Sent, turn: c.Turn}, nil)
		return true
	}
	own := d.clock.At(d.at)
	leases := func() []lease { return d.leases(own) }
	agrees := func(reply string) bool {
		return c.Replied == 0 && c.Turn == 0 || c.Reply == "" || alike(c.Command, reply, times(c.Command, leases))
	}
	data := d.near(ask)
	reply, changed := d.try(ask, d.shown(own), nil)
	for left := int64(-1e6 / 2); !agrees(reply); left += 1e6 { // replies tell what is left in milliseconds
		if left >= Grain || c.Turn != 0 {
			return false
		}
		data = maps.Clone(d.near(ask))
		d.about(data, own, left)
		reply, changed = d.try(ask, d.shown(own), data)
	}
	for i := range changed { // it found it, shortly after its lease had ended
		if p := &changed[i]; d.keys[p.key] == nil {
			p.seen = data[p.key]
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.keys)) {
		if v := d.keys[key]; data[key] == nil && v.Expires != 0 && v.Expires-d.epoch <= own+Grain { // it found it no more
			d.push(d.at, derived{Executed: history.Executed{Effect: history.Expired}}, []put{{key: key}})
		}
	}
	d.push(d.at, derived{Executed: d.executed(c.Command), open: c.Replied - c.Sent, turn: c.Turn}, changed)
	return true
}

// comesFirst reports whether an effect precedes a command that is executed now.
func (d *deriver) comesFirst(e *history.Effect, c *history.Command) bool {
	if e.Known && c.Turn != 0 && e.At == d.at && e.What != history.Restarted && e.What != history.Promoted {
		return e.Turn < c.Turn
	}
	return e.At <= d.at
}

// about changes data by the leases that end about now: those that ended within Grain still have
// some time left or, if that is negative, those that end within Grain have ended.
func (d *deriver) about(data fakeredis.Data, own, left int64) {
	for key, v := range data {
		if left < 0 && v.Expires != 0 && v.Expires-d.epoch <= own+Grain {
			delete(data, key)
		}
	}
	for i := d.n - 1; left >= 0 && i >= 0 && d.events[i].At > d.at-Grain; i-- {
		if e := &d.events[i]; e.Effect == history.Expired && data[e.puts[0].key] == nil {
			was := *e.puts[0].was
			was.Expires = d.epoch + own + left
			data[e.puts[0].key] = &was
		}
	}
}

// executed returns the event of a command.
func (d *deriver) executed(c *history.Command) history.Executed {
	e := history.Executed{Client: c.Client, Conn: c.Conn, Op: c.Op, Name: c.Name, Script: c.Script, Args: c.Args, Reply: c.Reply}
	if c.Name == "MULTI" { // and all up to its end
		e.Name, e.Args = "EXEC", nil
	}
	return e
}

// push adds an event of an instant that changes keys.
func (d *deriver) push(at int64, e derived, changed []put) {
	if d.n > 0 && d.log == nil {
		at = max(at, d.events[d.n-1].At)
	}
	if e.Node, e.At = d.node, at; d.log == nil {
		d.at = max(d.at, at)
	}
	e.from, e.to = d.at, max(e.to, at)
	for _, p := range changed {
		p.was, p.now = d.keys[p.key], d.timed(p.now, d.clock)
		if same(p.was, p.now) && (p.now == nil || p.was.Until == p.now.Until) {
			continue
		}
		e.puts = append(e.puts, p)
		e.Changes = append(e.Changes, history.DataChange{Key: p.key, Before: datum(cmp.Or(p.seen, p.was)), After: datum(p.now)})
		d.set(p.key, p.now)
	}
	d.events, d.n = append(d.events[:d.n], e), d.n+1
}

// back goes back to a state.
func (d *deriver) back(to state) {
	for ; d.n > to.n; d.n-- {
		for _, p := range d.events[d.n-1].puts {
			d.set(p.key, p.was)
		}
		if s := d.events[d.n-1].strike; s != nil {
			s.found = false
		}
	}
	d.state = to
}

// expire adds the ends of leases up to an instant. The clock may have been set since a lease was
// given.
func (d *deriver) expire(by int64) {
	for d.log == nil {
		first := ""
		for key, v := range d.keys {
			if end := v.Until; v.Expires != 0 && (first == "" || end < d.keys[first].Until || end == d.keys[first].Until && key < first) {
				first = key
			}
		}
		if first == "" || d.keys[first].Until > min(by, max(d.End, d.at)) {
			return
		}
		d.push(d.keys[first].Until, derived{Executed: history.Executed{Effect: history.Expired}}, []put{{key: first}})
	}
}

// suffer adds the effect of a fault.
func (d *deriver) suffer(e *history.Effect) {
	d.effects = d.effects[1:]
	d.expire(e.At)
	d.clock = d.clock.After(e)
	left := maps.Clone(d.keys)
	switch e.What {
	case history.Deleted, history.Evicted:
		for _, key := range e.Lost {
			delete(left, key)
		}
	case history.Restarted, history.Promoted:
		left = d.kept(e)
	}
	d.push(e.At, derived{Executed: history.Executed{Effect: e.What}, turn: e.Turn}, d.difference(left))
}

// difference returns what makes the node's data others, by key.
func (d *deriver) difference(to map[string]*fakeredis.Entry) (changed []put) {
	for key := range d.keys {
		changed = append(changed, put{key: key, now: to[key]})
	}
	for key, v := range to {
		if d.keys[key] == nil {
			changed = append(changed, put{key: key, now: v})
		}
	}
	slices.SortFunc(changed, func(a, b put) int { return cmp.Compare(a.key, b.key) })
	return changed
}

// kept returns the data that a restart or a promotion kept: those after a turn or, if that is not
// known, the latest of the keys recorded as kept.
func (d *deriver) kept(e *history.Effect) map[string]*fakeredis.Entry {
	kept := map[string]*fakeredis.Entry{}
	if e.Known || len(e.Kept) > 0 {
		kept = maps.Clone(d.keys)
	}
	for i := d.n - 1; e.Known && i >= 0 && (d.events[i].turn == 0 || d.events[i].turn > e.Turn); i-- {
		for _, p := range d.events[i].puts {
			if kept[p.key] = p.was; p.was == nil {
				delete(kept, p.key)
			}
		}
	}
	for _, key := range e.Lost {
		delete(kept, key)
	}
	return kept
}
