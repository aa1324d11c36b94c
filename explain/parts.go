package explain

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// part names a part of a key: a field, a member, an item, or "" for a string.
type part struct{ key, name string }

func comparePart(a, b part) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.name, b.name))
}

// inOrder yields the entries of a map by key: where several would do, an answer names the first.
func inOrder[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// data returns what a value has in a part.
func data(d *history.Datum, name string) (text string, there bool) {
	text, there = d.Parts()[name]
	return text, there
}

// counts reports whether a number was raised or lowered by one: others may count in the same part.
func counts(before, after string) bool {
	was, err := strconv.ParseInt(before, 10, 64)
	is, also := strconv.ParseInt(after, 10, 64)
	return err == nil && also == nil && (is == was+1 || is == was-1)
}

// set returns the parts that a change set, or whose end it moved.
func set(c *history.DataChange) map[part]bool {
	out := map[part]bool{}
	before, after := c.Before.Parts(), c.After.Parts()
	only := len(before) == len(after) // a change of the end alone is one of all parts
	for name, text := range after {
		if was, there := before[name]; !there || was != text {
			out[part{c.Key, name}], only = true, false
		}
	}
	for name := range after {
		if only {
			out[part{c.Key, name}] = true
		}
	}
	return out
}

// setsMore reports whether changes set parts that others did not.
func setsMore(changes, than []history.DataChange) bool {
	of := func(changes []history.DataChange) map[part]bool {
		out := map[part]bool{}
		for i := range changes {
			for p := range set(&changes[i]) {
				out[p] = true
			}
		}
		return out
	}
	was := of(than)
	for p := range of(changes) {
		if !was[p] {
			return true
		}
	}
	return false
}

// grants reports whether a request set something.
func (q *query) grants() bool {
	return q.event != nil && slices.ContainsFunc(q.event.Changes, func(c history.DataChange) bool { return len(set(&c)) > 0 })
}
