package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// pass is the state of findHolds.
type pass struct {
	a       *archive
	k       *keyLog
	ev      *evidence
	clients map[uint32]*client
	spare   []*openHold
}

// client is the state of one client on the key.
type client struct {
	last    op          // its last operation that does not span others
	open    []*openHold // in the order of their acquires
	waiting []op        // called and not returned, by return
	ghosts  []int       // its ghosts that may be there, as indices of keyLog.ghosts
	asked   int         // how many of them come from before the last answer of the server
	crashes []int64     // instants of its confirmed crashes, ascending
}

// openHold is a hold to which further operations may belong.
type openHold struct {
	n        uint32 // number of the hold
	began    op
	mode     history.Mode
	token    uint32
	belief   uint32 // number of the extend with which the current belief began; 0: the hold
	until    int64  // the current belief lasts until then
	over     bool   // the belief has ended for good
	lost     bool   // because its client learnt that it is gone
	released bool   // a release was called
	closed   bool   // and answered
	renewed  int64  // the latest instant of a grant or renewal
	unsure   bool   // an operation of unknown outcome may renew it until its client's next answer
	owned    int64  // as renewed, without renewals for nobody
	certain  int64
	gone     int64 // first return of an answer that it is gone, or of its ok release
}

// nest returns the open holds of a re-entrant client, which are one at the server.
func (p *pass) nest(c *client) []*openHold {
	if p.a.header.Kind != history.Reentrant {
		return nil
	}
	return c.open
}

// begin opens a hold.
func (p *pass) begin(c *client, o *op, n uint32) *openHold {
	d := p.k.holds.at(n)
	d.began = o.place
	if len(p.spare) == 0 {
		p.spare = append(p.spare, &openHold{})
	}
	h := p.spare[len(p.spare)-1]
	p.spare = p.spare[:len(p.spare)-1]
	*h = openHold{n: n, began: *o, mode: o.mode, token: d.token, renewed: o.ret, owned: o.ret, gone: never}
	c.open = append(c.open, h)
	return h
}

// reenter lets a grant renew the holds around it.
func (p *pass) reenter(c *client, o *op) {
	for _, h := range p.nest(c) {
		if h.n == o.hold || h.closed {
			continue
		}
		p.renew(c, h, o)
		if h.certain >= o.ret { // it had not ended in between
			h.certain = max(h.certain, lease(p.a.header, p.k.asked(o)))
		}
		if !h.over && h.until >= o.ret {
			h.until = max(h.until, p.k.believedUntil(p.a.header, o))
		}
	}
}

// renew notes that an operation renewed a hold, or may have. An operation that was called when the
// hold was not possible any more renews it only if it was accepted for this hold.
func (p *pass) renew(c *client, h *openHold, o *op) {
	its := o.hold == h.n && o.outcome == history.OK
	if h.closed || !its && p.possible(h, o.call) < o.call {
		return
	}
	h.renewed = max(h.renewed, o.ret)
	h.unsure = h.unsure || o.outcome == history.Unknown
	if !h.released || !p.forNobody(c, o) && kept(p.a.header, h.owned) >= o.call {
		h.owned = h.renewed
	}
}

// forNobody reports whether a renewal was called after all releases of its client's holds had
// returned: nobody needs what it renews. Any other renewal is lawful, and renews holds of a
// re-entrant client that were released before, too: the server may count differently.
func (p *pass) forNobody(c *client, o *op) bool {
	return !slices.ContainsFunc(c.open, func(h *openHold) bool {
		release := p.k.holds.at(h.n).release
		return release == 0 || p.k.ret(p.k.at(release)) >= o.call
	})
}

// extended applies the answer to an extend to its hold, or for a re-entrant lock to all of its
// client's; it is not sure to be about the hold if it may be about a ghost.
func (p *pass) extended(c *client, h *openHold, o *op, sure bool) {
	all := []*openHold{h}
	if nest := p.nest(c); nest != nil {
		all = nest
	}
	switch {
	case o.renewed() && h.over && h.lost && !h.released: // after a loss, another hold takes its place
		n := p.k.holds.add(hold{token: h.token})
		p.k.assign(o, n, h.mode)
		next := p.begin(c, o, n)
		next.mode, next.until, next.certain = h.mode, p.k.believedUntil(p.a.header, o), lease(p.a.header, o.call)
		h.closed = true
	case o.renewed():
		for _, x := range all {
			p.believe(c, x, o, x == h, sure)
		}
	case o.outcome == history.Unknown:
		for _, x := range all {
			p.renew(c, x, o)
		}
	case o.saysGone():
		h.gone = min(h.gone, o.ret)
		h.certain = min(h.certain, o.ret)
		h.lost = h.lost || !h.over
		p.end(h, o.ret)
	}
}

// believe prolongs the belief in a hold by an ok extend, or begins another after a gap. One that is
// not sure to be about the hold does not make it certain again.
func (p *pass) believe(c *client, h *openHold, o *op, its, sure bool) {
	p.renew(c, h, o)
	if h.certain >= o.ret || its && sure {
		h.certain = max(h.certain, lease(p.a.header, o.call))
	}
	until := p.k.believedUntil(p.a.header, o)
	switch {
	case h.over:
	case o.ret <= max(h.until, h.began.ret):
		h.until = max(h.until, until)
	case its:
		p.finish(h)
		h.belief, h.until = o.detail, until
	}
}

// left applies the answer to a release.
func (p *pass) left(c *client, h *openHold, o *op) {
	if kept(p.a.header, h.owned) >= o.call { // a watchdog may have gone on until then
		for _, s := range p.ev.commandsOf(p.a.client(o), o.call, o.ret) {
			if by := max(s.Sent, min(s.Ran, o.ret)); s.MayRenew() {
				h.renewed, h.owned = max(h.renewed, by), max(h.owned, by)
			}
		}
	}
	switch {
	case o.outcome == history.OK || o.saysGone():
		h.gone, h.closed = min(h.gone, o.ret), true
		if o.saysGone() {
			h.certain = min(h.certain, o.ret)
		}
	}
	for _, x := range p.nest(c) {
		if x != h && (o.outcome == history.OK || o.outcome == history.Unknown) {
			p.renew(c, x, o)
		}
	}
}

// end ends the belief in a hold for good.
func (p *pass) end(h *openHold, t int64) {
	if !h.over {
		h.until = min(h.until, t)
		p.finish(h)
		h.over = true
	}
}

// finish stores the end of the current belief.
func (p *pass) finish(h *openHold) {
	if h.belief == 0 {
		p.k.holds.at(h.n).belief = h.until
	} else {
		p.k.extends.at(h.belief).end = h.until
	}
}

// possible returns until when the server can have a hold, after what was called, and sent by its
// client's watchdog, before an instant.
func (p *pass) possible(h *openHold, before int64) int64 {
	renewed := max(h.renewed, p.ev.renewedInBackground(p.a.client(&h.began), &h.began, h.renewed, before))
	end := kept(p.a.header, renewed)
	if h.unsure {
		end = kept(p.a.header, end)
	}
	return min(h.gone, end)
}

// close stores a hold to which no further operation can belong.
func (p *pass) close(h *openHold) {
	p.end(h, never)
	d := p.k.holds.at(h.n)
	before := never
	if h.released {
		before = p.k.ret(p.k.at(d.release))
	}
	name := p.a.client(&h.began)
	d.certain = min(h.certain, p.ev.loses(name, h.began.call))
	d.possible = p.possible(h, never)
	if owned := kept(p.a.header, max(h.owned, p.ev.renewedInBackground(name, &h.began, h.owned, before))); owned < d.possible {
		p.k.rareOf(h.n).owned = owned
	}
}
