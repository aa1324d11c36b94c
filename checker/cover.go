package checker

import (
	"cmp"
	"slices"
)

// cover is a set of spans, in order; those closer to each other than least are one.
type cover struct {
	least int64
	spans []Span
}

// add adds a span.
func (c *cover) add(s Span) {
	first, _ := slices.BinarySearchFunc(c.spans, s.From-c.least, func(x Span, t int64) int { return cmp.Compare(x.To, t) })
	last := first
	for last < len(c.spans) && c.spans[last].From <= plus(s.To, c.least) {
		s = Span{min(s.From, c.spans[last].From), max(s.To, c.spans[last].To)}
		last++
	}
	c.spans = slices.Replace(c.spans, first, last, s)
}

// meets reports whether any of the spans meets [from, to].
func (c *cover) meets(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(c.spans, from, func(x Span, t int64) int { return cmp.Compare(x.To, t) })
	return i < len(c.spans) && c.spans[i].From <= to
}

// gaps returns what the spans leave of a stretch.
func (c *cover) gaps(of Span) (out []Span) {
	for _, s := range c.spans {
		if s.From-of.From >= c.least {
			out = append(out, Span{of.From, s.From})
		}
		of.From = max(of.From, s.To)
	}
	if of.To-of.From >= c.least {
		out = append(out, of)
	}
	return out
}

// atOnce returns the spans in which some number of the given ones lie at once.
func atOnce(spans []Span, n int) (out []Span) {
	var starts, ends []int64
	for _, s := range spans {
		starts, ends = append(starts, s.From), append(ends, s.To)
	}
	slices.Sort(starts)
	slices.Sort(ends)
	open, from := 0, int64(0)
	for i, j := 0, 0; j < len(ends); {
		if i < len(starts) && starts[i] <= ends[j] {
			if open++; open == n {
				from = starts[i]
			}
			i++
			continue
		}
		if open == n {
			out = append(out, Span{from, ends[j]})
		}
		open--
		j++
	}
	return out
}
