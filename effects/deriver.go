package effects

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// Grain is how exactly, in nanoseconds, the end of a lease is known where the instant of a command
// lies between its request and its reply.
const Grain = 3_000_000

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

// deriver finds what one node executed.
type deriver struct {
	Record
	data
	state
	node   int
	asks   *Requests
	late   bool
	todo   []timed  // its commands, as they were sent or by turns; of a node with a log, those that were replied
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
// before from, and in a choice its place among those to do.
type timed struct {
	*history.Command
	at, from int64
	is       int
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

// choice is what could be executed next at a point of the search, and what has been tried.
type choice struct {
	state
	open []timed // the commands, by their instants
	by   int64   // when the first of those that are left was replied; 0: none was
	next int     // then the log's own moves
	took int     // the place of the command that was executed; -1: none
	last bool    // no other is worth a try
}

// outcome is what the next commands of the log do to the data.
type outcome struct {
	place
	commands [][]string // nil: the log has ended
	read     int64
	known    bool // what follows is
	puts     []put
	unknown  bool // the embedded server does not know one of them
}

// place is how far the log has been explained: the step, and of its commands how many.
type place struct{ step, off int }

// strike is what a fault did to a key, or to the node, until a step of the log was found to be it.
type strike struct {
	*history.Effect
	key   string
	found bool
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

// suffer adds the effect of a fault.
func (d *deriver) suffer(e *history.Effect) {
	d.effects = d.effects[1:]
	d.expire(e.At)
	d.clock = d.clock.After(e)
	left := maps.Clone(d.keys)
	switch e.What {
	case history.Restarted, history.Promoted:
		// they kept the data after a turn or, if that is not known, the latest of the keys recorded as kept
		if !e.Known && len(e.Kept) == 0 {
			left = map[string]*fakeredis.Entry{}
		}
		for i := d.n - 1; e.Known && i >= 0 && (d.events[i].turn == 0 || d.events[i].turn > e.Turn); i-- {
			for _, p := range d.events[i].puts {
				if left[p.key] = p.was; p.was == nil {
					delete(left, p.key)
				}
			}
		}
		fallthrough
	case history.Deleted, history.Evicted:
		for _, key := range e.Lost {
			delete(left, key)
		}
	}
	d.push(e.At, derived{Executed: history.Executed{Effect: e.What}, turn: e.Turn}, d.difference(left))
}
