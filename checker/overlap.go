package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// interval is a belief or a use.
type interval struct {
	r          *record
	hold       uint32 // index of its hold
	start, end int64
}

// overlaps finds conflicting intervals that arrive by start: see Conflict.
//
// Two intervals conflict if one starts before the other ends, and of those that started earlier the one that ends last overlaps the longest. So the
// largest end among the intervals with which a new one would conflict is enough: of other holds for a mutex, of other clients for a re-entrant lock,
// of other exclusive holds and other clients' shared ones for shared and exclusive holds. The largest end of all but one owner follows from the two
// largest of different owners. Permits: at the start of an interval, all that have not ended are in force together.
//
// Touching intervals do not overlap, and an empty interval overlaps nothing.
type overlaps struct {
	kind      history.Kind
	permits   int
	exclusive ends // by hold
	owners    ends // exclusive, by client
	shared    ends // by client

	inForce []interval // of a semaphore
	first   []uint32   // the first holds, no more than there are permits
	since   int64      // since when more than permits are in force, if they are
}

func newOverlaps(h history.Header) *overlaps {
	return &overlaps{kind: h.Kind, permits: Permits(h)}
}

// Conflict reports whether two holds, of the same client or of two, exclude each other (see docs/verdicts.md).
func Conflict(kind history.Kind, same bool, a, b history.Mode) bool {
	switch {
	case kind == history.Reentrant:
		return !same
	case kind == history.RW && same:
		return a == history.Exclusive && b == history.Exclusive
	}
	return mayRefuse(kind, a, b)
}

// mayRefuse reports whether a hold may refuse an acquire: for shared and exclusive locks the client's own may as any other, and whether a re-entrant
// lock may refuse its owner is judged as reentrancy.
func mayRefuse(kind history.Kind, held, asked history.Mode) bool {
	return kind != history.RW || held == history.Exclusive || asked == history.Exclusive
}

// Permits returns how many holds that conflict may be in force at once.
func Permits(h history.Header) int {
	if h.Kind == history.Semaphore {
		return max(h.Permits, 1)
	}
	return 1
}

// add adds the next interval. It returns those with which it conflicts and for how long it does without a gap; met reports whether intervals began
// before it with which it would conflict if they had not ended.
func (o *overlaps) add(i interval) (with []interval, lasted int64, met bool) {
	if o.kind == history.Semaphore {
		return o.addPermit(i)
	}
	shared := o.kind == history.RW && i.r.mode == history.Shared
	var longest interval
	if o.kind == history.Reentrant || shared {
		longest = o.owners.longestBut(i.r.client)
	} else {
		longest = o.exclusive.longestBut(i.hold)
		if s := o.shared.longestBut(i.r.client); s.r != nil && (longest.r == nil || s.end > longest.end) {
			longest = s
		}
	}
	switch {
	case i.end <= i.start:
	case shared:
		o.shared.add(i, i.r.client)
	default:
		o.exclusive.add(i, i.hold)
		o.owners.add(i, i.r.client)
	}
	if longest.r == nil || min(longest.end, i.end) <= i.start {
		return nil, 0, longest.r != nil
	}
	return []interval{longest}, plus(min(longest.end, i.end), -i.start), true
}

// addPermit counts intervals in force. Intervals of one hold are one permit. Those that end when i starts are kept until then: as long as one takes the
// place of another, too many are in force without a gap.
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
	return with, plus(endings[len(endings)-1-o.permits], -o.since), met
}

// ends keeps the two intervals with the largest ends of different owners.
type ends struct {
	first, second           interval
	firstOwner, secondOwner uint32
}

func (e *ends) add(i interval, owner uint32) {
	switch {
	case e.first.r == nil || i.end >= e.first.end:
		if e.first.r != nil && e.firstOwner != owner {
			e.second, e.secondOwner = e.first, e.firstOwner
		}
		e.first, e.firstOwner = i, owner
	case owner != e.firstOwner && (e.second.r == nil || i.end > e.second.end):
		e.second, e.secondOwner = i, owner
	}
}

// longestBut returns the interval with the largest end among those of other owners.
func (e *ends) longestBut(owner uint32) interval {
	if e.first.r != nil && e.firstOwner == owner {
		return e.second
	}
	return e.first
}

// overlapViolation describes interval i, which began while others were in force.
func (d *keyInput) overlapViolation(i interval, with []interval, lasted int64) Violation {
	v := Violation{At: i.start, Lasted: lasted, WithinClockError: lasted <= d.a.header.ClockError}
	for _, w := range with {
		v.Clients = append(v.Clients, d.clientName(w.r))
	}
	v.Clients = append(v.Clients, d.clientName(i.r))
	return v
}

// recordsOf returns the records with which the intervals began.
func recordsOf(intervals []interval) (of []*record) {
	for _, i := range intervals {
		of = append(of, i.r)
	}
	return of
}
