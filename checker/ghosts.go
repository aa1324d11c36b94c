package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
)

// answered limits the ghosts of a client when the server answers it: what may have begun them
// happened before the answer, so they last a lease longer at most. A release that fits no hold is
// one of a ghost. What has no answer may renew those of a re-entrant client until the next one.
func (p *pass) answered(c *client, o *op) {
	switch {
	case o.outcome == history.Unknown && p.a.header.Kind == history.Reentrant && p.haunted(c, o.call):
		for _, i := range c.ghosts {
			p.k.ghosts[i].to = never
		}
		c.asked = 0
		return
	case o.outcome == history.Unknown || o.outcome == history.Fail:
		return
	}
	for n, i := range c.ghosts {
		g := &p.k.ghosts[i]
		switch {
		case o.kind == history.Release && (o.hold == 0 && !p.a.wasGranted(p.k, o.token) || o.saysGone() && p.a.header.Kind == history.Reentrant):
			g.to = min(g.to, o.ret)
		case n >= c.asked:
			g.to = kept(p.a.header, o.ret)
		case p.a.header.Kind == history.Reentrant && o.outcome == history.OK && g.to >= o.call: // it renews it
			g.to = kept(p.a.header, o.ret)
			if !p.forNobody(c, o) && kept(p.a.header, g.died) >= o.call {
				g.died = o.ret
			}
		}
	}
	c.asked = len(c.ghosts)
	for _, h := range c.open {
		if h.unsure {
			h.unsure = false
			h.renewed = max(h.renewed, min(kept(p.a.header, h.renewed), o.ret))
		}
	}
}

// haunted reports whether a ghost of a client may be there at an instant.
func (p *pass) haunted(c *client, now int64) bool {
	n := len(c.ghosts)
	c.ghosts = slices.DeleteFunc(c.ghosts, func(i int) bool { return p.k.ghosts[i].to < now })
	c.asked = max(0, c.asked-(n-len(c.ghosts)))
	return len(c.ghosts) > 0
}

// orderGhosts makes the index of the ghosts by time.
func (p *pass) orderGhosts() {
	slices.SortStableFunc(p.k.ghosts, func(a, b ghost) int { return cmp.Compare(a.from, b.from) })
	last := [2]haunting{{math.MinInt64, latest{most: 2}}, {math.MinInt64, latest{most: 2}}}
	for _, g := range p.k.ghosts {
		if g.failed {
			failed := &last[g.mode].failed
			failed.list = slices.Clone(failed.list)
			failed.add(interval{owner: g.client, end: g.to})
		} else {
			last[g.mode].unknown = max(last[g.mode].unknown, g.to)
		}
		p.k.haunted = append(p.k.haunted, last)
	}
}

// ghostFor reports whether a ghost may have refused a try: any but those of the same client's
// failed acquires.
func (d *keyInput) ghostFor(o *op) bool {
	by := plus(o.ret, d.a.header.ClockError)
	n := sort.Search(len(d.k.ghosts), func(i int) bool { return d.k.ghosts[i].from > by })
	if n == 0 {
		return false
	}
	for mode := range d.k.haunted[n-1] {
		by := &d.k.haunted[n-1][mode]
		if mayRefuse(d.a.header.Kind, history.Mode(mode), o.mode) && max(by.unknown, by.failed.others(o.client)) >= o.call-d.a.header.ClockError {
			return true
		}
	}
	return false
}
