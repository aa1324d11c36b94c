package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// overlaps finds conflicting intervals (see Conflict) that arrive by start. Their owners are holds,
// or clients where a client does not keep itself out.
//
// An interval conflicts if, when it starts, those of other owners that have not ended are as many
// as may be in force at once. The ones that end last overlap it the longest, so it is enough to
// keep those, one more than may be in force, of different owners.
//
// Touching intervals do not overlap, and an empty interval overlaps nothing.
type overlaps struct {
	d      *keyInput
	most   int       // in force at once
	by     [2]latest // by mode
	others []interval
}

func (d *keyInput) newOverlaps() overlaps {
	most := Permits(d.a.header)
	return overlaps{d: d, most: most, by: [2]latest{{most: most + 1}, {most: most + 1}}}
}

// add adds an interval of a hold, or none, that o began. It returns those with which it conflicts
// and for how long it does; met reports whether intervals began before it with which it would
// conflict if they had not ended.
func (v *overlaps) add(o *op, hold uint32, i interval) (with []interval, lasted int64, met bool) {
	kind := v.d.a.header.Kind
	i.owner, i.place = hold, o.place
	if kind == history.Reentrant || kind == history.RW {
		i.owner = o.client
	}
	v.others = v.others[:0]
	for mode := range v.by {
		if !Conflict(kind, false, history.Mode(mode), o.mode) {
			continue
		}
		for _, x := range v.by[mode].list {
			if x.owner != i.owner {
				v.others = append(v.others, x)
			}
		}
	}
	if i.end > i.start {
		v.by[o.mode].add(i)
	}
	if len(v.others) < v.most {
		return nil, 0, false
	}
	if len(v.by[history.Shared].list) > 0 {
		slices.SortStableFunc(v.others, func(x, y interval) int { return cmp.Compare(y.end, x.end) })
	}
	lasted = min(v.others[v.most-1].end, i.end) - i.start
	if lasted <= 0 {
		return nil, 0, true
	}
	return v.others[:v.most], lasted, true
}

// report reports an interval that o began while others were in force.
func (v *overlaps) report(t *tally, o *op, i interval, with []interval, lasted int64) {
	slices.SortStableFunc(with, func(x, y interval) int { return cmp.Compare(x.start, y.start) })
	var of []op
	for _, w := range with {
		of = append(of, v.d.k.op(w.place))
	}
	of = append(of, *o)
	x := Violation{At: i.start, Lasted: lasted, WithinClockError: lasted <= v.d.a.header.ClockError}
	for i := range of {
		x.Clients = append(x.Clients, v.d.a.client(&of[i]))
	}
	t.found(x, of)
}
