package explain

import (
	"context"
	"math"
	"slices"
)

// reach is how many commands before and after one whose reply differs may be moved past it.
const reach = 32

// reorder looks for an order near the i-th command, whose reply differs, in which all replies are
// as recorded: at another instant or, of two commands that overlap in time, one is moved past the
// other. The command itself comes first, then those before it, of which a reply may tell the order
// only now. It returns the command to go on with. What it tried in vain leaves the derivation as it
// was.
func (d *deriver) reorder(ctx context.Context, i int) (next int, found bool) {
	if d.todo[i].Turn != 0 {
		return 0, false
	}
	if d.shift(i) {
		return i + 1, true
	}
	for away := 1; away <= reach; away++ {
		for _, pair := range [][2]int{{i - away, i}, {i, i + away}} {
			if next, found := d.swap(pair[0], pair[1], i); found {
				return next, true
			}
		}
	}
	for first := i - 2; first >= max(0, i-reach) && ctx.Err() == nil; first-- {
		for last := first + 1; last < i; last++ {
			if next, found := d.swap(first, last, i); found {
				return next, true
			}
		}
	}
	return 0, false
}

// shift executes the i-th command at other instants between its request and its reply, which may
// tell how long a lease still runs.
func (d *deriver) shift(i int) bool {
	from, to := d.todo[i].Sent, int64(math.MaxInt64)
	if i > 0 {
		from = max(from, d.todo[i-1].at)
	}
	for _, c := range d.todo[i:min(i+reach, len(d.todo))] {
		if c.Replied != 0 {
			to = min(to, c.Replied)
		}
	}
	const parts = 8
	for k := range int64(parts + 1) {
		c := d.todo[i]
		c.at = from + (to-from)/parts*k
		if c.Replied == 0 || to < from {
			return false
		}
		if _, found := d.try(i, []timed{c}, i); found {
			return true
		}
	}
	return false
}

// swap moves one of two commands past the other and executes all from there on, also the i-th. If a
// reply differs again, it takes everything back.
func (d *deriver) swap(first, last, i int) (next int, found bool) {
	if first < 0 || last >= len(d.todo) {
		return 0, false
	}
	a, b := d.todo[first], d.todo[last]
	if a.Replied != 0 && a.Replied < b.Sent || a.Conn != 0 && a.Conn == b.Conn {
		return 0, false
	}
	segment, n := slices.Clone(d.todo[first:last+1]), last-first
	for _, order := range [][]timed{
		slices.Concat(segment[n:], segment[:n]),
		slices.Concat(segment[1:], segment[:1]),
	} {
		if next, found := d.try(first, order, max(last, i)); found {
			return next, true
		}
	}
	return 0, false
}

// try executes the commands from one up to another, those in order first.
func (d *deriver) try(first int, order []timed, last int) (next int, found bool) {
	before := int64(math.MinInt64)
	if first > 0 {
		before = d.todo[first-1].at
	}
	order = append(order, d.todo[first+len(order):last+1]...)
	if !fit(order, before) {
		return 0, false
	}
	restore := d.rewind(first, len(order))
	copy(d.todo[first:], order)
	for next = first; next <= last; next++ {
		if !d.step(next) {
			restore()
			return 0, false
		}
	}
	return next, true
}

// rewind goes back to before the first of n commands, and returns what takes that back.
func (d *deriver) rewind(first, n int) (restore func()) {
	to, was := d.states[first], d.state
	todo, states := slices.Clone(d.todo[first:first+n]), slices.Clone(d.states[first:])
	events := slices.Clone(d.events[len(to.events):])
	past, pastAt := slices.Clone(d.past[len(to.past):]), slices.Clone(d.pastAt[len(to.past):])
	d.state = to
	return func() {
		d.state = was
		copy(d.todo[first:], todo)
		d.states = append(d.states[:first], states...)
		copy(d.events[len(to.events):], events)
		copy(d.past[len(to.past):], past)
		copy(d.pastAt[len(to.past):], pastAt)
	}
}

// fit gives commands instants that rise from one on and lie between request and reply, near to
// those they have, and reports whether there are such.
func fit(order []timed, before int64) bool {
	latest := make([]int64, len(order))
	by := int64(math.MaxInt64)
	for i, c := range slices.Backward(order) {
		if c.Replied != 0 {
			by = min(by, c.Replied)
		}
		latest[i] = by
	}
	for i := range order {
		c := &order[i]
		c.at = max(before, c.Sent, min(c.at, latest[i]))
		if c.at > latest[i] {
			return false
		}
		before = c.at
	}
	return true
}
