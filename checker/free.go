package checker

import (
	"iter"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// stretches returns the stretches of some length or more, from the first call to the last return,
// in which too few holds were possible to refuse a mode. Holds closer to each other than that are
// taken together, so that few are kept.
func (d *keyInput) stretches(least int64, asked history.Mode) []Span {
	counted := d.holdsAgainst(asked, func(began *op) Span { return Span{d.countsFrom(began), d.counts(began)} })
	taken := d.full(least, func(yield func(Span) bool) {
		counted(yield)
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
	return taken.gaps(Span{d.k.first(), d.k.last()})
}

// holdsAgainst yields the spans of the holds that may refuse a mode.
func (d *keyInput) holdsAgainst(asked history.Mode, of func(began *op) Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for n := uint32(1); n <= d.k.holds.len(); n++ {
			if o := d.k.began(n); mayRefuse(d.a.header.Kind, o.mode, asked) {
				yield(of(&o))
			}
		}
	}
}

// full returns where as many of some spans lie at once as there are permits. Those closer to each
// other than least are taken together.
func (d *keyInput) full(least int64, all iter.Seq[Span]) cover {
	c := cover{least: least}
	if n := Permits(d.a.header); n > 1 {
		c.spans = atOnce(slices.Collect(all), n)
		return c
	}
	for s := range all {
		c.add(s)
	}
	return c
}

// countsFrom returns the earliest instant at which a hold can have begun: asked; if that is not
// recorded, when the last request of the acquire was sent, or executed. What was executed after it
// returned is another operation's.
func (d *keyInput) countsFrom(o *op) int64 {
	from := d.k.asked(o)
	if n := d.k.holds.at(o.hold).rare; n != 0 && d.k.rares.at(n).known {
		return from
	}
	for _, c := range d.ev.commandsOf(d.a.client(o), o.call, o.ret) {
		if ran := max(c.Sent, c.Ran); ran < o.ret {
			from = max(from, ran)
		}
	}
	return from
}

// counts returns until when a hold, given by what began it, counts.
func (d *keyInput) counts(o *op) int64 {
	h := d.k.holds.at(o.hold)
	end := h.possible
	if h.rare != 0 {
		if owned := d.k.rares.at(h.rare).owned; owned != 0 {
			end = min(end, owned)
		}
	}
	if end < never {
		return end
	}
	if h.release != 0 {
		end = d.k.ret(d.k.at(h.release))
	}
	for _, at := range d.ev.crashes[d.a.client(o)] {
		if at >= o.ret {
			end = min(end, plus(at, d.a.header.Lease+slack(d.a.header)))
		}
	}
	return end
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
