package effects

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// reach is how many commands that are left are looked at for the next one.
const reach = 64

// patience is how many wrong choices are taken back before a place is given up; without a log, the
// whole node is. With a log, mostTaken is how many are in all. The last of those kept can be.
const (
	patience  = 2000
	mostTaken = 50_000
	kept      = 500
)

// search executes the commands in an order in which all are replied as recorded, and reports
// whether it found one. Two commands may change places if they overlap in time. The nearest order
// to that of the instants comes first; where no command is replied as recorded, the last choice was
// wrong. With a log, what changes the data is what the log says next; where nothing goes on, it
// goes on from the farthest point.
func (d *deriver) search(ctx context.Context) bool {
	var taken []choice
	best := attempt{done: -1}
	dead := map[string]bool{} // points from which no order goes on
	first, done, vain, all := 0, 0, 0, 0
	for {
		for first < len(d.todo) && d.done[first] {
			first++
		}
		if first == len(d.todo) && d.ends() || ctx.Err() != nil {
			return true
		}
		c := d.choice(first)
		c.last = len(dead) > 0 && len(c.open) > 1 && dead[d.pointOf(first)]
		for !d.proceed(&c) {
			if len(c.open) > 1 {
				dead[d.pointOf(first)] = true
			}
			if done+d.step > best.far() {
				best, vain = d.attempt(done, first, taken, c), 0
			}
			vain, all = vain+1, all+1
			if len(taken) == 0 || vain > patience || all > mostTaken {
				if c = d.resume(best, taken); d.log == nil {
					left, _ := d.left(best.first)
					d.broken, d.brokenAt = true, d.todo[left[0]].at
					for _, i := range left {
						d.brokenAt = min(d.brokenAt, d.todo[i].at)
					}
					return false
				}
				d.force(&c)
				taken, first, done, best, vain = nil, best.first, best.done, attempt{done: -1}, 0
				clear(dead)
				break
			}
			c, taken = taken[len(taken)-1], taken[:len(taken)-1]
			if c.took >= 0 {
				d.done[c.took] = false
				done--
				if c.took < len(d.todo) {
					first = min(first, c.took)
				}
			}
		}
		if c.took >= 0 {
			done++
		}
		if taken = append(taken, c); len(taken) > 2*kept && done+d.step > best.far() {
			taken = slices.Delete(taken, 0, kept)
		}
	}
}

// proceed executes the next of a choice that is replied as recorded. One that changes nothing
// wherever it has this reply may as well come now as later: then no other is worth a try.
func (d *deriver) proceed(c *choice) bool {
	moves := 0 // beside those of commands that were replied
	if d.log != nil {
		moves = 2
	}
	for c.next < len(c.open)+moves && !c.last {
		d.back(c.state)
		c.next++
		if i := c.next - 1; i >= len(c.open) {
			if c.took = d.move(i-len(c.open), c); c.took != nothing {
				return true
			}
			continue
		}
		t := c.open[c.next-1]
		if d.log == nil && d.execute(t) || d.log != nil && d.follow(t, c.by) {
			c.took = t.is
			d.done[c.took] = true
			c.last = !resp.IsWrite(t.Name) || t.Script == "" && t.Replied != 0 && !t.Accepted()
			return true
		}
	}
	d.back(c.state)
	return false
}

// left returns the places of the commands that are left and may have been sent before any of them
// was replied, in the order in which they were sent, and when the first of them was replied; 0: none
// was.
func (d *deriver) left(first int) (left []int, by int64) {
	for i := first; i < len(d.todo) && len(left) < reach; i++ {
		t := &d.todo[i]
		if by != 0 && t.Sent > by {
			break
		}
		if d.done[i] || t.Turn != 0 && len(left) > 0 {
			continue
		}
		left = append(left, i)
		if t.Replied != 0 && (by == 0 || t.Replied < by) {
			by = t.Replied
		}
	}
	return left, by
}

// choice returns the commands that may be next: those that no other was replied before, and that
// are first on their connections. No command that is left comes before the given place.
func (d *deriver) choice(first int) choice {
	left, by := d.left(first)
	c := choice{state: d.state, took: -1, by: by}
	d.conns = d.conns[:0]
	for _, i := range left {
		t := d.todo[i]
		t.is = i
		waits := t.Conn != 0 && slices.Contains(d.conns, t.Conn)
		d.conns = append(d.conns, t.Conn)
		if waits || by != 0 && t.Sent > by {
			continue
		}
		if by != 0 {
			t.at = min(t.at, by)
		}
		t.at = max(t.at, t.Sent)
		// of several that differ in nothing but their clients and times, the one that was replied first
		// may as well come first, if nothing tells when they came
		twin := slices.IndexFunc(c.open, func(o timed) bool {
			return !d.dated && o.Replied != 0 && t.Replied != 0 && o.Reply == t.Reply &&
				o.Name == t.Name && o.Script == t.Script && slices.Equal(o.Args, t.Args)
		})
		if twin < 0 {
			c.open = append(c.open, t)
		} else if t.Replied < c.open[twin].Replied {
			c.open[twin] = t
		}
	}
	slices.SortStableFunc(c.open, func(a, b timed) int { return cmp.Compare(d.todo[a.is].at, d.todo[b.is].at) })
	if d.late {
		slices.Reverse(c.open)
	}
	return c
}

// pointOf names a point of the search: which commands are left, and the data, whatever the ends of
// leases.
func (d *deriver) pointOf(first int) string {
	left, _ := d.left(first)
	b := fmt.Append(nil, left)
	if d.log != nil { // which has the data
		return string(strconv.AppendInt(strconv.AppendInt(append(b, '@'), int64(d.step), 10), int64(-d.off), 10))
	}
	for _, key := range slices.Sorted(maps.Keys(d.keys)) {
		b = fmt.Append(b, " ", key, d.keys[key].Value)
	}
	return string(b)
}

// attempt is the farthest that a search has come, and the choice at which it could not go on.
type attempt struct {
	done   int // commands; -1: there is none yet
	first  int
	stuck  choice
	taken  []choice
	events []derived
}

// far is how far an attempt has come.
func (a *attempt) far() int { return a.done + a.stuck.step }

func (d *deriver) attempt(done, first int, taken []choice, stuck choice) attempt {
	a := attempt{done: done, first: first, stuck: stuck}
	from := stuck.n
	if a.taken = slices.Clone(taken); len(taken) > 0 {
		from = taken[0].n
	}
	a.events = slices.Clone(d.events[from:stuck.n])
	return a
}

// resume goes back to the farthest point of a search.
func (d *deriver) resume(a attempt, taken []choice) choice {
	for _, c := range taken {
		if c.took >= 0 {
			d.done[c.took] = false
		}
	}
	root := a.stuck
	if len(a.taken) > 0 {
		root = a.taken[0]
	}
	d.back(root.state)
	for _, e := range a.events {
		for _, p := range e.puts {
			d.set(p.key, p.now)
		}
		d.events = append(d.events[:d.n], e)
		d.n++
	}
	for _, c := range a.taken {
		if c.took >= 0 {
			d.done[c.took] = true
		}
	}
	d.state = a.stuck.state
	return a.stuck
}

// execute executes a command, after the effects of faults that come first, and reports whether it
// was replied as recorded.
func (d *deriver) execute(c timed) bool {
	d.at = max(d.at, c.at)
	for len(d.effects) > 0 {
		e := d.effects[0]
		first := e.At <= d.at
		if e.Known && c.Turn != 0 && e.At == d.at && e.What != history.Restarted && e.What != history.Promoted {
			first = e.Turn < c.Turn
		}
		if !first {
			break
		}
		d.suffer(e)
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
