package effects

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// This file compares a command with what comes next in the log.

// follow executes a command, and reports whether it may come now: it is replied as recorded, and
// does what comes next in the log, or nothing. by is when the next reply came.
func (d *deriver) follow(t timed, by int64) bool {
	to := t.Replied
	if by != 0 {
		to = min(to, by)
	}
	d.tellTime(max(d.at, t.Sent))
	from := max(d.at, t.from)
	to = max(from, to)
	ask := d.asks.Of(t.Command)
	if ask == nil || t.Failed() {
		if o := d.following(); !t.Failed() && t.Sent <= o.read && shares(t.Command, o.commands) {
			d.sent(t.Command, from+(to-from)/2)
		}
		return true
	}
	instants := []int64{min(max(t.at, from), to)}
	if t.Script != "" { // which may ask for the time
		instants = append(instants, from, to)
	}
	best := no
	for _, at := range instants {
		is := d.fits(t, ask, at, to-from)
		if is == does {
			d.at = from
			d.sent(t.Command, at)
			return true
		}
		if best = max(best, is); best != idle {
			continue
		}
		// if what comes next in the log moves ends of leases by less than is known of when the command
		// was executed, it may have moved them, too, at another instant
		more := func(p put) bool { return !about(p.was, p.now, to-from+Grain) }
		if o := d.outcome(); len(o.puts) == 0 || slices.ContainsFunc(o.puts, more) {
			break
		}
	}
	return best == idle // what the log says next may have come before it
}

// fit is what a command, executed now, has to do with the log.
type fit int

const (
	no   fit = iota
	idle     // it changes nothing, and is not in the log
	does     // what comes next
)

// fits executes a command at an instant, which is uncertain by so much.
func (d *deriver) fits(t timed, ask Request, at, slack int64) fit {
	own := d.clock.At(at)
	now := d.shown(own)
	over := func(key string) bool { // a node ends a lease before it looks at its key
		v := d.keys[key]
		return v != nil && v.Expires != 0 && v.Expires < now.UnixNano()-slack-Grain
	}
	var data fakeredis.Data
	for key, v := range d.near(ask) { // what has ended is there until the log says so
		if v.Expires != 0 && v.Expires <= now.UnixNano() {
			if data == nil {
				data = maps.Clone(d.near(ask))
			}
			data[key] = &fakeredis.Entry{Datum: v.Datum, Expires: now.UnixNano() + 1e6}
		}
	}
	reply, changed := d.try(ask, now, data)
	if slices.ContainsFunc(d.server.Touched(), over) {
		return no
	}
	if t.Replied != 0 && !alike(t.Command, reply, times(t.Command, func() []lease { return d.leases(own) })) {
		return no
	}
	if len(changed) == 0 && (t.Name != "SET" || !t.Accepted() || t.Replied == 0) {
		return idle
	}
	o := d.outcome()
	if o.commands == nil || t.Sent > o.read || len(changed) == 0 && (len(o.puts) > 0 || !says(t.Command, o.commands)) {
		return no
	}
	for _, p := range o.puts {
		i := slices.IndexFunc(changed, func(c put) bool { return c.key == p.key })
		if i < 0 && !about(d.keys[p.key], p.now, slack+Grain) || i >= 0 && !about(changed[i].now, p.now, slack+Grain) {
			return no
		}
	}
	for _, c := range changed {
		if !slices.ContainsFunc(o.puts, func(p put) bool { return p.key == c.key }) && !about(c.was, c.now, slack+Grain) {
			return no
		}
	}
	return does
}

// sent adds the event of a command that did what comes next in the log.
func (d *deriver) sent(c *history.Command, at int64) {
	to := c.Replied
	if to == 0 {
		to = math.MaxInt64
	}
	d.take(at, to, derived{Executed: d.executed(c)}, len(d.following().commands))
}

// shares reports whether commands of a log write something that is an argument of a command and no
// key, such as a token.
func shares(c *history.Command, commands [][]string) bool {
	for _, words := range commands {
		keys := resp.Keys(words)
		for _, word := range words[1:] {
			if len(word) >= 8 && !slices.Contains(keys, word) && slices.Contains(c.Args, word) {
				return true
			}
		}
	}
	return false
}

// says reports whether commands of a log are a command in its own words, or a SET of the same
// value.
func says(c *history.Command, commands [][]string) bool {
	if len(commands) != 1 || c.Script != "" || commands[0][0] != c.Name {
		return false
	}
	did := commands[0][1:]
	return slices.Equal(did, c.Args) || c.Name == "SET" && len(did) >= 2 && len(c.Args) >= 2 && did[0] == c.Args[0] && did[1] == c.Args[1]
}

// following returns what comes next in the log.
func (d *deriver) following() *outcome {
	if d.ahead != nil && d.ahead.place == d.place {
		return d.ahead
	}
	d.ahead = &outcome{place: d.place, read: math.MaxInt64}
	if !d.ends() {
		s := d.log[d.step]
		if d.ahead.read = s.At; s.Effect == "" {
			d.ahead.commands = s.Log[d.off:]
		}
	}
	return d.ahead
}

// outcome executes what comes next in the log, if that has not been done.
func (d *deriver) outcome() *outcome {
	o := d.following()
	if o.commands != nil && !o.known {
		var reply string
		reply, o.puts = d.try(o.commands, always, nil)
		o.known, o.unknown = true, strings.HasPrefix(reply, "-")
	}
	return o
}

// take adds an event that executed what comes next in the log, or so many commands of it.
func (d *deriver) take(at, to int64, e derived, commands int) {
	o := d.outcome()
	puts := o.puts
	if d.off += commands; commands == len(o.commands) {
		d.place = place{step: d.step + 1}
	} else {
		_, puts = d.try(o.commands[:commands], always, nil)
	}
	e.to = min(to, o.read)
	if e.Open = e.Open || o.unknown; len(puts) > 0 || e.Open {
		d.push(at, e, puts)
	}
}

// tellTime adds the changes of the node's clock up to a time.
func (d *deriver) tellTime(until int64) {
	for len(d.effects) > 0 && d.effects[0].At <= until {
		d.suffer(d.effects[0])
	}
}

// ends reports whether the whole log has been explained.
func (d *deriver) ends() bool { return d.step == len(d.log) }

func (d *deriver) skips(commands [][]string) bool {
	return d.Skip != nil && !slices.ContainsFunc(commands, func(words []string) bool {
		keys := resp.Keys(words)
		return len(keys) == 0 || slices.ContainsFunc(keys, func(key string) bool { return !d.Skip(key) })
	})
}
