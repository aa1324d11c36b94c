package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// interval is a belief or a use.
type interval struct {
	o          op
	hold       uint32 // number of its hold
	start, end int64
}

// overlaps finds conflicting intervals that arrive by start: see Conflict.
//
// Two intervals conflict if one starts before the other ends, and of those that started earlier the
// one that ends last overlaps the longest. So the largest end among the intervals with which a new
// one would conflict is enough: of other holds for a mutex, of other clients for a re-entrant or
// shared lock. The largest end of all but one owner follows from the two largest of different
// owners. Permits: at the start of an interval, all that have not ended are in force together.
//
// Touching intervals do not overlap, and an empty interval overlaps nothing.
type overlaps struct {
	kind    history.Kind
	permits int
	all     ends // by hold for a mutex, else by client; only exclusive ones of a shared lock
	shared  ends // by client

	inForce []interval // of a semaphore
	first   []uint32   // the first holds, no more than there are permits
	since   int64      // since when more than permits are in force, if they are
}

func newOverlaps(h history.Header) *overlaps {
	return &overlaps{kind: h.Kind, permits: Permits(h)}
}

// add adds the next interval. It returns those with which it conflicts and for how long it does
// without a gap; met reports whether intervals began before it with which it would conflict if they
// had not ended.
func (o *overlaps) add(i interval) (with []interval, lasted int64, met bool) {
	if o.kind == history.Semaphore {
		return o.addPermit(i)
	}
	owner := i.o.client
	if o.kind == history.Mutex {
		owner = i.hold
	}
	isShared := o.kind == history.RW && i.o.mode == history.Shared
	longest := o.all.longestBut(owner)
	if o.kind == history.RW && !isShared {
		if s := o.shared.longestBut(owner); s.hold != 0 && (longest.hold == 0 || s.end > longest.end) {
			longest = s
		}
	}
	switch {
	case i.end <= i.start:
	case isShared:
		o.shared.add(i, owner)
	default:
		o.all.add(i, owner)
	}
	if longest.hold == 0 || min(longest.end, i.end) <= i.start {
		return nil, 0, longest.hold != 0
	}
	return []interval{longest}, min(longest.end, i.end) - i.start, true
}

// addPermit counts intervals in force. Intervals of one hold are one permit. Those that end when i
// starts are kept until then: as long as one takes the place of another, too many are in force
// without a gap.
func (o *overlaps) addPermit(i interval) (with []interval, lasted int64, met bool) {
	met = len(o.first) == o.permits
	if i.end <= i.start {
		return nil, 0, met
	}
	if !met && !slices.Contains(o.first, i.hold) {
		o.first = append(o.first, i.hold)
	}
	o.inForce = slices.DeleteFunc(o.inForce, func(other interval) bool { return other.end < i.start })
	if len(o.inForce) <= o.permits {
		o.since = i.start
	}
	if at := slices.IndexFunc(o.inForce, func(other interval) bool { return other.hold == i.hold }); at >= 0 {
		o.inForce[at].end = max(o.inForce[at].end, i.end)
	} else {
		o.inForce = append(o.inForce, i)
	}
	var endings []int64
	for _, other := range o.inForce {
		if other.end > i.start {
			endings = append(endings, other.end)
		}
		if other.end > i.start && other.hold != i.hold {
			with = append(with, other)
		}
	}
	if len(endings) <= o.permits {
		return nil, 0, met
	}
	slices.Sort(endings)
	return with, endings[len(endings)-1-o.permits] - o.since, met
}

// ends keeps the two intervals with the largest ends of different owners.
type ends struct {
	first, second interval
	firstOwner    uint32
}

func (e *ends) add(i interval, owner uint32) {
	switch {
	case e.first.hold == 0 || i.end >= e.first.end:
		if e.first.hold != 0 && e.firstOwner != owner {
			e.second = e.first
		}
		e.first, e.firstOwner = i, owner
	case owner != e.firstOwner && (e.second.hold == 0 || i.end > e.second.end):
		e.second = i
	}
}

// longestBut returns the interval with the largest end among those of other owners.
func (e *ends) longestBut(owner uint32) interval {
	if e.first.hold != 0 && e.firstOwner == owner {
		return e.second
	}
	return e.first
}

// overlap describes interval i, which began while others were in force.
func (d *keyInput) overlap(i interval, with []interval, lasted int64) (v Violation, shown func() Witness) {
	v = Violation{At: i.start, Lasted: lasted, WithinClockError: lasted <= d.a.header.ClockError}
	for _, w := range append(with, i) {
		v.Clients = append(v.Clients, d.a.client(&w.o))
	}
	return v, func() Witness {
		var of []op
		for _, w := range append(with, i) {
			of = append(of, w.o)
		}
		return d.witness(of)
	}
}
