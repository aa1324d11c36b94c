package effects

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// This file is about a node with a log: it has what changed the data, in the node's order, and not
// who sent it.

// apart is by how much the clock of a measured effect and the time of a step may differ, and how
// long before it was read a step was written at most, on a machine that is not busy.
const apart = int64(250e6)

// readLog keeps the node's steps, and takes the effects that the steps show from those to come.
func (d *deriver) readLog() {
	d.log = []*history.Logged{}
	for i := range d.Logs {
		if s := &d.Logs[i]; s.Node == d.node && (s.Effect != "" || !d.skips(s.Log)) {
			d.log = append(d.log, s)
			d.dated = d.dated || slices.ContainsFunc(s.Log, func(words []string) bool { return words[0] == "PEXPIREAT" || slices.Contains(words, "PXAT") })
		}
	}
	effects := d.effects
	d.effects = nil
	for _, e := range effects {
		switch {
		case e.What == history.ClockSet || e.What == history.ClockRate:
			d.effects = append(d.effects, e)
		case e.What == history.Restarted || e.What == history.Promoted:
			d.strikes = append(d.strikes, &strike{Effect: e})
		default:
			for _, key := range e.Lost {
				d.strikes = append(d.strikes, &strike{Effect: e, key: key})
			}
		}
	}
}

// nothing says that a move was not possible.
const nothing = -2

// move explains what comes next in the log by a command without a reply, whose place it returns, or
// by none (-1). What was read before any of the commands that may be next was sent is nobody's: a
// node that took over had it from its primary.
func (d *deriver) move(which int, c *choice) (took int) {
	by := c.by
	if by == 0 {
		by = math.MaxInt64
	}
	switch o := d.outcome(); {
	case d.ends():
		return nothing
	case which == 0:
		return d.unanswered(o, by)
	case o.commands == nil:
		d.fault()
	case len(o.puts) == 0 && !o.unknown:
		d.place = place{step: d.step + 1}
	case d.struck(o) || d.lapse(o, by):
	case slices.ContainsFunc(c.open, func(t timed) bool { return t.Sent <= o.read }):
		return nothing
	default:
		d.nobodys(by)
	}
	return -1
}

// mostTried is how many commands without a reply are executed for one step. A lock that tries
// without a pause while its server is away leaves thousands; those that name the token that the
// step writes, or that was there, come first.
const mostTried = 50

// unanswered explains a step by a command without a reply.
func (d *deriver) unanswered(o *outcome, by int64) (took int) {
	tried := 0
	held := [][]string{{""}}
	for _, p := range o.puts {
		for name, text := range datum(p.was).Parts() {
			held[0] = append(held[0], name, text)
		}
	}
	for _, named := range []bool{true, false} {
		for i, t := range d.loose {
			at := max(d.at, min(t.at, by))
			if t.Sent > min(by, o.read) {
				break
			}
			if tried == mostTried || d.done[len(d.todo)+i] || (shares(t.Command, o.commands) || shares(t.Command, held)) != named {
				continue
			}
			tried++
			if ask := d.asks.Of(t.Command); ask == nil && shares(t.Command, o.commands) || ask != nil && d.fits(t, ask, at, min(by, o.read)-at) == does {
				d.sent(t.Command, at)
				d.done[len(d.todo)+i] = true
				return len(d.todo) + i
			}
		}
	}
	return nothing
}

// removes returns the key that is all that a command of the log removes.
func removes(words []string) (key string, ok bool) {
	if (words[0] == "DEL" || words[0] == "UNLINK") && len(words) == 2 {
		return words[1], true
	}
	return "", false
}

// ended reports whether the lease of a key is over at an instant of the run, by a clock.
func (d *deriver) ended(key string, c history.Clock, at int64) bool {
	v := d.keys[key]
	return v != nil && v.Expires != 0 && v.Expires-d.epoch <= c.At(at)
}

// lapse adds the end of a lease, which the node removed when it noticed: a script perhaps after it
// had changed other keys. It may have ended because the clock was set.
func (d *deriver) lapse(o *outcome, by int64) bool {
	latest := min(by, o.read)
	later := slices.IndexFunc(o.commands, func(words []string) bool {
		key, ok := removes(words)
		return ok && d.ended(key, d.clock, latest+Grain)
	})
	if later > 0 {
		s, at := *d.log[d.step], d.off+later
		s.Log = slices.Concat(s.Log[:d.off], s.Log[at:at+1], s.Log[d.off:at], s.Log[at+1:])
		d.log[d.step], d.ahead = &s, nil
		o = d.outcome()
	}
	key, ok := removes(o.commands[0])
	if !ok || d.keys[key] == nil || d.keys[key].Expires == 0 {
		return false
	}
	for !d.ended(key, d.clock, latest+Grain) {
		if len(d.effects) == 0 || d.effects[0].At > latest+apart {
			return false
		}
		d.tellTime(d.effects[0].At)
	}
	d.at = max(d.at, min(d.keys[key].Until, latest))
	d.take(d.at, latest, derived{Executed: history.Executed{Effect: history.Expired}}, 1)
	return true
}

// struck adds what a fault did to a key. It did not remove what had ended before it.
func (d *deriver) struck(o *outcome) bool {
	key, ok := removes(o.commands[0])
	for _, s := range d.strikes {
		if ok && len(o.commands) == 1 && s.key == key && !s.found && s.At >= d.at-apart && s.At <= o.read+apart && !d.ended(key, d.clock, s.At) {
			s.found = true
			d.at = max(d.at, min(s.At-apart, o.read))
			d.take(min(s.At, o.read), o.read, derived{Executed: history.Executed{Effect: s.What}, strike: s}, 1)
			return true
		}
	}
	return false
}

// fault adds a restart, a promotion, or a copy of another primary's data.
func (d *deriver) fault() {
	s := d.log[d.step]
	e := derived{Executed: history.Executed{Effect: s.Effect}}
	at := s.At
	for _, k := range d.strikes {
		if k.key == "" && k.What == s.Effect && !k.found {
			k.found, e.strike, at = true, k, min(k.At, s.At)
			break
		}
	}
	if s.Effect == history.Promoted {
		d.clock = history.Clock{} // another machine
	}
	var puts []put
	if !s.Kept {
		on := d.keys
		d.keys = nil
		_, puts = d.try(s.Log, always, fakeredis.Data{})
		left := map[string]*fakeredis.Entry{}
		for _, p := range puts {
			left[p.key] = p.now
		}
		d.keys = on
		puts = d.difference(left)
	}
	d.place = place{step: d.step + 1}
	e.to = s.At
	d.push(at, e, puts)
}

// nobodys adds a step that no recorded command explains, shortly before it was read.
func (d *deriver) nobodys(by int64) {
	o := d.following()
	e := history.Executed{Name: o.commands[0][0], Args: o.commands[0][1:]}
	if len(o.commands) > 1 {
		e.Name, e.Args = "EXEC", nil
	}
	from := max(d.at, 0, o.read-apart)
	d.take(from+max(min(by, o.read)-from, 0)/2, o.read, derived{Executed: e}, len(o.commands))
}

// mostAtOnce is how many steps are taken for nobody's at once.
const mostAtOnce = 8

// force goes on where nothing explains what comes next: by a command that names what the log does,
// by somebody who was not recorded, or without the command that was replied first.
func (d *deriver) force(c *choice) {
	c.took = -1
	by := c.by
	if by == 0 {
		by = math.MaxInt64
	}
	if o := d.following(); o.commands != nil {
		for _, t := range c.open {
			if t.Sent <= o.read && (shares(t.Command, o.commands) || says(t.Command, o.commands)) {
				d.at = max(d.at, t.from)
				d.sent(t.Command, max(d.at, t.at))
				c.took = t.is
				d.done[c.took] = true
				return
			}
		}
	}
	before := d.state
	for range mostAtOnce {
		if o := d.following(); o.commands == nil {
			break
		}
		d.nobodys(by)
		after := d.state
		fits := slices.ContainsFunc(c.open, func(t timed) bool {
			defer d.back(after)
			return d.follow(t, c.by)
		})
		if fits || len(c.open) == 0 {
			return
		}
	}
	d.back(before)
	for _, t := range c.open {
		if t.Replied == c.by {
			c.took = t.is
		}
	}
	if c.took < 0 {
		c.took = slices.Index(d.done[:len(d.todo)], false)
	}
	if c.took >= 0 {
		d.done[c.took] = true
	}
}
