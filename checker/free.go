package checker

import (
	"cmp"
	"iter"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// stretches returns the stretches of some length or more, from the first call to the last return,
// in which too few holds were possible to refuse a mode. Holds closer to each other than that are
// taken together, so that few are kept.
func (d *keyInput) stretches(least int64, asked history.Mode) (out []Span) {
	taken := d.full(least, func(yield func(Span) bool) {
		d.holdsAgainst(asked, d.counts)(yield)
		for _, g := range d.k.ghosts {
			if mayRefuse(d.a.header.Kind, g.mode, asked) {
				yield(Span{g.from, plus(g.died, d.a.header.Lease+slack(d.a.header))})
			}
		}
		if d.a.header.Kind == history.RW && asked == history.Shared { // a writer that waits may keep readers out
			for place := range d.a.walk(d.k) {
				if o := d.k.op(place); o.kind == history.Acquire && o.mode == history.Exclusive {
					yield(Span{o.call, o.ret})
				}
			}
		}
	})
	rest := Span{From: d.k.first()}
	for i := range d.k.chunks {
		rest.To = max(rest.To, d.k.chunks[i].last)
	}
	for _, s := range taken {
		if s.From-rest.From >= least {
			out = append(out, Span{rest.From, s.From})
		}
		rest.From = max(rest.From, s.To)
	}
	if rest.To-rest.From >= least {
		out = append(out, rest)
	}
	return out
}

// holdsAgainst yields the spans of the holds that may refuse a mode.
func (d *keyInput) holdsAgainst(asked history.Mode, of func(began *op) Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		var o op
		for n := uint32(1); n <= d.k.holds.n; n++ {
			if o = d.k.began(n); mayRefuse(d.a.header.Kind, o.mode, asked) {
				yield(of(&o))
			}
		}
	}
}

// full returns where as many of some spans lie at once as there are permits, by time. With one
// permit, those closer to each other than least are one.
func (d *keyInput) full(least int64, all iter.Seq[Span]) (out []Span) {
	permits := Permits(d.a.header)
	if permits == 1 {
		for s := range all {
			first, _ := slices.BinarySearchFunc(out, s.From-least, endsBefore)
			last := first
			for last < len(out) && out[last].From <= plus(s.To, least) {
				s = Span{min(s.From, out[last].From), max(s.To, out[last].To)}
				last++
			}
			out = slices.Replace(out, first, last, s)
		}
		return out
	}
	var starts, ends []int64
	for s := range all {
		starts, ends = append(starts, s.From), append(ends, s.To)
	}
	slices.Sort(starts)
	slices.Sort(ends)
	open, from := 0, int64(0)
	for i, j := 0, 0; j < len(ends); {
		if i < len(starts) && starts[i] <= ends[j] {
			if open++; open == permits {
				from = starts[i]
			}
			i++
			continue
		}
		if open == permits {
			out = append(out, Span{from, ends[j]})
		}
		open--
		j++
	}
	return out
}

// endsBefore compares the end of a span with an instant.
func endsBefore(s Span, at int64) int { return cmp.Compare(s.To, at) }

// counts returns from when until when a hold, given by what began it, counts. From: asked; if that
// is not recorded, when the last request of the acquire was sent, or executed. What was executed
// after it returned is another operation's.
func (d *keyInput) counts(o *op) Span {
	h := d.k.holds.at(o.hold)
	s, known := Span{d.k.asked(o), h.possible}, false
	if h.rare != 0 {
		x := d.k.rares.at(h.rare)
		known = x.known
		if x.owned != 0 {
			s.To = min(s.To, x.owned)
		}
	}
	if !known {
		for _, c := range d.ev.commandsOf(d.a.client(o), o.call, o.ret) {
			if ran := max(c.Sent, c.Ran); ran < o.ret {
				s.From = max(s.From, ran)
			}
		}
	}
	if s.To < never {
		return s
	}
	if h.release != 0 {
		s.To = d.k.ret(d.k.at(h.release))
	}
	for _, at := range d.ev.crashes[d.a.client(o)] {
		if at >= o.ret {
			s.To = min(s.To, plus(at, d.a.header.Lease+slack(d.a.header)))
		}
	}
	return s
}

// served returns the parts of a stretch in which no fault kept a client from being served.
func (d *keyInput) served(client string, s Span) (parts []Span) {
	for _, w := range d.ev.excusing(client, s.From, s.To) {
		if w.Start > s.From {
			parts = append(parts, Span{s.From, min(w.Start, s.To)})
		}
		s.From = max(s.From, w.Last())
	}
	if s.From < s.To {
		parts = append(parts, s)
	}
	return parts
}
