package checker

import (
	"maps"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// findHolds goes over a key's operations by call and finds its holds. It follows each client's
// operations in their order: what returned by an instant comes before what is called at it.
//
// A hold begins with a granted acquire, or with an ok extend after its client learnt of the loss.
// An extend, release or loss belongs to the open hold of its client with its token; if one of the
// two has no token, to the innermost. A hold stays open until a release of it was answered; after
// one of unknown outcome, the next release of a re-entrant client rather means the hold around it.
// What matches no hold ends and extends nothing. A use or write lies in the innermost open hold.

func (a *archive) findHolds(k *keyLog, ev *evidence) error {
	k.late = map[uint32]bool{}
	p := &pass{a: a, k: k, ev: ev, clients: map[uint32]*client{}}
	var o op
	for place := range a.walk(k) {
		k.unpack(&o, place)
		c := p.clients[o.client]
		if c == nil {
			c = &client{crashes: ev.crashes[a.client(&o)]}
			p.clients[o.client] = c
		}
		// a critical section, an extend (a watchdog's) and a notice of loss may overlap others
		if o.kind != history.Use && o.kind != history.Extend && o.kind != history.Lost {
			if c.last.line != 0 && o.call < c.last.ret {
				return a.broken(o.line, "client %q calls %s at %d while its operation of line %d on the same key is not over before %d; one client does one thing at a time",
					a.client(&o), o.kind, o.call, c.last.line+1, c.last.ret)
			}
			c.last = o
		}
		p.settle(c, o.call)
		if err := p.called(c, &o); err != nil {
			return err
		}
		c.waiting = insert(c.waiting, &o)
		if o.call == o.ret {
			p.settle(c, o.ret)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(p.clients)) {
		c := p.clients[n]
		p.settle(c, never)
		for _, at := range ev.crashes[a.clients[n]] {
			if len(ev.commandsOf(a.clients[n], c.last.ret, at)) > 0 { // it was doing what was not recorded: perhaps an acquire
				g := ghost{client: n, mode: history.Exclusive, from: min(c.last.ret, at), to: kept(a.header, at), died: at}
				k.ghosts = append(k.ghosts, g)
			}
		}
		for _, h := range c.open {
			p.close(h)
		}
	}
	p.orderGhosts()
	return nil
}

// settle applies what has returned to a client by an instant.
func (p *pass) settle(c *client, now int64) {
	n := 0
	for ; n < len(c.waiting) && c.waiting[n].ret <= now; n++ {
		o := &c.waiting[n]
		p.died(c, o.ret)
		if o.kind != history.Acquire && o.kind != history.Extend && o.kind != history.Release {
			continue
		}
		p.answered(c, o)
		if o.granted() {
			p.reenter(c, o)
			continue
		}
		i := slices.IndexFunc(c.open, func(h *openHold) bool { return h.n == o.hold && o.hold != 0 })
		switch {
		case i < 0:
		case o.kind == history.Extend:
			p.extended(c, c.open[i], o, !p.mayMeanGhost(c, o))
		case o.kind == history.Release:
			p.left(c, c.open[i], o)
		}
	}
	c.waiting = slices.Delete(c.waiting, 0, n)
	p.died(c, now)
}

// died ends the beliefs of a client that crashed by an instant.
func (p *pass) died(c *client, now int64) {
	for len(c.crashes) > 0 && c.crashes[0] <= now {
		for _, h := range c.open {
			h.lost = false
			p.end(h, c.crashes[0])
		}
		c.crashes = c.crashes[1:]
	}
}

func (p *pass) called(c *client, o *op) error {
	switch o.kind {
	case history.Acquire:
		p.ask(c, o)
	case history.Release, history.Extend:
		h, err := p.find(c, o)
		if err != nil {
			return err
		}
		// Accepted, though its hold was not possible when it was called. While another operation of the
		// client is under way, or one of unknown outcome may have begun a hold, it may be about that one.
		if o.outcome == history.OK && !p.mayMeanGhost(c, o) && !p.mayHave(c, h, o.call) &&
			!slices.ContainsFunc(c.waiting, func(w op) bool { return w.kind == history.Acquire || w.kind == history.Extend }) {
			p.k.late[o.line] = true
		}
		if h != nil {
			p.k.assign(o, h.n, h.mode)
		}
		if h != nil && o.kind == history.Release {
			p.end(h, o.call)
			if !h.released {
				h.released = true
				p.k.holds.at(h.n).release = o.place
			}
		}
	case history.Lost:
		if h, err := p.find(c, o); err == nil && h != nil {
			p.k.assign(o, h.n, h.mode)
			for _, e := range append(slices.Clone(p.nest(c)), h) { // a notice ends the nest
				if e.token == h.token {
					e.lost = e.lost || !e.over
					p.end(e, o.call)
				}
			}
		}
	case history.Use, history.Write:
		var in *openHold // the innermost of its mode; a section may have another than its hold
		for _, h := range slices.Backward(c.open) {
			fits := o.stated.fits(h.mode)
			if !h.released && h.began.ret <= o.call && (fits || in == nil) {
				in = h
				if fits {
					break
				}
			}
		}
		if in != nil {
			p.k.assign(o, in.n, in.mode)
		}
	}
	return nil
}

// ask opens the hold of an acquire, or notes that it may have begun one.
func (p *pass) ask(c *client, o *op) {
	switch {
	case o.outcome == history.Busy || o.outcome == history.Fail:
		met := p.ev.excusing(p.a.client(o), o.call, o.ret)
		if len(met) == 0 {
			break
		}
		by := o.call // what was asked after the faults was answered
		for _, w := range met {
			by = min(max(by, w.Last()), o.ret)
		}
		p.k.ghosts = append(p.k.ghosts, ghost{client: o.client, mode: o.mode, from: o.call, to: kept(p.a.header, by), died: by, failed: true})
	case o.outcome == history.Unknown:
		c.ghosts = append(c.ghosts, len(p.k.ghosts))
		p.k.ghosts = append(p.k.ghosts, ghost{client: o.client, mode: o.mode, from: o.call, to: never, died: o.ret})
		for _, h := range p.nest(c) {
			p.renew(c, h, o)
		}
	case o.granted():
		open := c.open[:0]
		for i, h := range c.open { // without those that no further operation can mean
			if !h.closed && len(c.open)-i < maxOpen {
				open = append(open, h)
			} else {
				p.close(h)
				p.spare = append(p.spare, h)
			}
		}
		clear(c.open[len(open):])
		c.open = open
		asked := p.k.asked(o)
		for _, h := range p.nest(c) {
			if !h.closed && p.possible(h, o.call) >= asked {
				p.k.rareOf(o.hold).nested = true
			}
		}
		if p.a.header.Kind == history.Reentrant && p.haunted(c, asked) {
			p.k.rareOf(o.hold).nested = true
		}
		h := p.begin(c, o, o.hold)
		h.until = p.k.believedUntil(p.a.header, o)
		h.certain = lease(p.a.header, asked)
	}
}

// maxOpen is how many unreleased holds of one client are kept: only an operation with the token of
// an older one would not find its hold.
const maxOpen = 64

// find returns the open hold that an operation belongs to; nil if there is none. An error says that
// it fits two.
func (p *pass) find(c *client, o *op) (best *openHold, err error) {
	several, level := 0, -1
	for _, h := range slices.Backward(c.open) {
		if h.closed || h.began.ret > o.call || !o.stated.fits(h.mode) || o.token != 0 && h.token != 0 && o.token != h.token {
			continue
		}
		its := 0 // how well it fits
		if o.token != 0 && o.token == h.token {
			its += 2
		}
		if !h.released || o.kind != history.Release { // the next release rather means the hold around it
			its++
		}
		if o.token == 0 && !h.over && h.until > o.call && h.began.ret < o.call {
			several++
		}
		if its > level {
			best, level = h, its
		}
	}
	if several > 1 && p.a.header.Kind != history.Reentrant && (o.kind == history.Release || o.kind == history.Extend) {
		return nil, p.a.broken(o.line, "client %q calls %s without a token and has %d open holds: which one does it mean?", p.a.client(o), o.kind, several)
	}
	return best, nil
}

// mayHave reports whether the server can have a hold at an instant or, of a re-entrant lock, any of
// its client's.
func (p *pass) mayHave(c *client, h *openHold, now int64) bool {
	may := func(x *openHold) bool { return !x.closed && p.possible(x, now) >= now }
	return h != nil && (may(h) || slices.ContainsFunc(p.nest(c), may))
}

// mayMeanGhost reports whether an operation may be about a ghost, and not about the hold that it
// fits.
func (p *pass) mayMeanGhost(c *client, o *op) bool {
	return p.haunted(c, o.call) && !p.a.wasGranted(p.k, o.token)
}
