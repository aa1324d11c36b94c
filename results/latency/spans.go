package latency

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
)

// spans is a union of closed intervals: disjoint, ascending.
type spans []span

type span struct{ from, to int64 }

// newSpans returns the union of the confirmed fault windows. An unconfirmed fault may have had no effect, so its samples belong outside.
func newSpans(windows []history.Window) spans {
	var all spans
	for _, w := range windows {
		if !w.Confirmed {
			continue
		}
		all = append(all, span{w.Start, w.Last()})
	}
	return all.union()
}

func (all spans) union() spans {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out spans
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// meet reports whether a closed interval overlaps one of them.
func (all spans) meet(from, to int64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].to >= from })
	return i < len(all) && all[i].from <= to
}
