package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// reach is how many commands are looked at for the next one.
const reach = 64

// patience is how many wrong choices are taken back before a node's order is given up.
const patience = 2000

// choice is what could be executed next at a point of the search, and what has been tried.
type choice struct {
	state
	open  []timed // the commands, by their instants
	is    []int   // their places
	next  int
	point string // of several: which commands were executed, and the data, whatever the ends of leases
}

// search executes the commands in an order in which all are replied as recorded, and reports
// whether it found one. Two commands may change places if they overlap in time. The nearest order
// to that of the instants comes first; where no command is replied as recorded, the last choice was
// wrong.
func (d *deriver) search(ctx context.Context) bool {
	var taken []choice
	dead := map[string]bool{} // points from which no order goes on
	first, farthest, vain := 0, 0, 0
	for {
		for first < len(d.todo) && d.done[first] {
			first++
		}
		if first > farthest {
			farthest, vain = first, 0
		}
		if first == len(d.todo) || ctx.Err() != nil {
			return true
		}
		c := d.choice(first)
		if dead[c.point] {
			c.next = len(c.open)
		}
		for !d.proceed(&c) {
			dead[c.point] = c.point != ""
			if vain++; len(taken) == 0 || vain > patience {
				d.broken, d.brokenAt = true, d.todo[first].at
				return false
			}
			c, taken = taken[len(taken)-1], taken[:len(taken)-1]
			d.done[c.is[c.next-1]] = false
			first = min(first, c.is[c.next-1])
		}
		taken = append(taken, c)
	}
}

// proceed executes the next of a choice that is replied as recorded. One that changes nothing
// wherever it has this reply may as well come now as later: then no other is worth a try.
func (d *deriver) proceed(c *choice) bool {
	for c.next < len(c.open) {
		d.state = c.state
		c.next++
		if d.step(c.open[c.next-1]) {
			d.done[c.is[c.next-1]] = true
			if t := c.open[c.next-1]; !resp.IsWrite(t.Name) || t.Script == "" && t.Replied != 0 && !t.Accepted() {
				c.open = c.open[:c.next]
			}
			return true
		}
	}
	return false
}

// choice returns the commands that may be next: those that no other was replied before, and that are
// first on their connections. The first is the one whose place is given.
func (d *deriver) choice(first int) choice {
	c := choice{state: d.state}
	by := d.todo[first].Replied
	ahead := d.todo[first:min(first+reach, len(d.todo))]
	for i := range ahead {
		if t := &ahead[i]; !d.done[first+i] && t.Replied != 0 && (by == 0 || t.Replied < by) {
			by = t.Replied
		}
	}
	var conns []uint64
	for i, t := range ahead {
		if d.done[first+i] || t.Turn != 0 && i > 0 {
			continue
		}
		waits := t.Conn != 0 && slices.Contains(conns, t.Conn)
		conns = append(conns, t.Conn)
		if waits || by != 0 && t.Sent > by {
			continue
		}
		if by != 0 {
			t.at = min(t.at, by)
		}
		t.at = max(t.at, t.Sent)
		// of several that are alike, the one that was replied first may as well come first
		if twin := slices.IndexFunc(c.open, func(o timed) bool { return twins(o.Command, t.Command) }); twin < 0 {
			c.open, c.is = append(c.open, t), append(c.is, first+i)
		} else if t.Replied < c.open[twin].Replied {
			c.open[twin], c.is[twin] = t, first+i
		}
	}
	if d.late {
		slices.Reverse(c.open)
		slices.Reverse(c.is)
	}
	if len(c.open) > 1 {
		c.point = fmt.Sprint(first, d.done[first:first+len(ahead)])
		for _, key := range slices.Sorted(maps.Keys(d.m.values)) {
			c.point += fmt.Sprint(" ", key, d.m.values[key].Value)
		}
	}
	return c
}

// twins reports whether two commands differ in nothing but their clients and times.
func twins(a, b *history.Command) bool {
	return a.Replied != 0 && b.Replied != 0 && a.Name == b.Name && a.Reply == b.Reply && a.Script == b.Script && slices.Equal(a.Args, b.Args)
}
