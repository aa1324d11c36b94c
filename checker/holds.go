package checker

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file is VERDICTS §1: it finds, in one pass over a key's records by call, what every other file reads of holds.
//
// A hold begins with an acquire that returned ok, or with an ok extend after its client had been told of the loss. Its belief, what the lock had told
// the client, is kept in the detail of that operation and, where an extend came late and left a gap, in the detail of that extend. Its possible, from
// the call of the acquire to gone, is how long the server can have kept it. An operation belongs to the open hold of its client with its token; where
// one of them has no token, to the innermost open one, of its mode where it names one.
//
// Re-entrant holds nest, one for each granted acquire. What the server keeps for them is one mark, so a re-entry and an extend renew all of a
// client's holds, an inner release may, and an answer that the mark is gone (not_held, lost) ends the belief in all of them.
//
// Where the page leaves a choice: a notice (op lost) ends the belief and not the possible, for it may be the client's own conclusion;
// of a renewal and a loss at one instant the renewal came first, so that the belief is the shorter one; a failed or unknown release ends the belief,
// and no later extend brings it back. A re-entrant client whose release of unknown outcome is followed by another release goes on outwards: the
// second one belongs to the hold around it, where there is one with the same token.

// holdPass is the pass over one key.
type holdPass struct {
	a       *archive
	k       *keyLog
	keep    int64              // lease + slack: how long after an effect the server may keep a hold; never where leases don't end
	crashes map[uint32][]int64 // by client number, ascending: instants of confirmed crashes
	clients map[uint32]*clientHolds
}

// clientHolds is what one client does on the key.
type clientHolds struct {
	idleAt   int64 // return of its last operation that spans nothing
	lastLine uint32
	open     []*openHold // in the order of their acquires
	early    []*record   // extends whose token names no open hold: perhaps that of an acquire under way
	unsure   int64       // call of the first acquire of unknown outcome since the last grant; never = none
	lost     int64       // of the first of all: it may take effect at any time
}

// openHold is a hold that an operation may yet belong to.
type openHold struct {
	d        *detail // of the operation that began it
	index    uint32  // of d, from 1
	r        *record // the operation that began it
	token    uint32
	belief   *detail   // where the present belief began
	resumed  []*detail // beliefs after a gap
	until    int64     // the present belief surely lasts until here,
	doubt    int64     // and perhaps until here
	ended    bool      // the belief is over for good
	lost     bool      // because the client was told so: an ok extend begins a new hold
	closed   int64     // from when on it isn't open any more
	effect   int64     // the latest effect that is known to have happened
	maybe    int64     // how many effects of unknown outcome may have come after that
	cap      int64     // it was gone by then, by an accepted release or an answer that said so
	release  *record   // the first
	next     *openHold
	releases bool // a release of it has been called
	left     bool // one of unknown outcome
	notices  []notice
}

// notice is something that the holder is told at an instant the pass hasn't reached.
type notice struct {
	at           int64
	kind         noticeKind
	until, doubt int64   // renewals
	r            *record // renewals by an extend, and losses
}

type noticeKind uint8

const (
	toldRenewal noticeKind = iota // by an extend
	toldReentry
	toldLost // by a refused extend or a notice of a loss
	died
)

// slack is by how much a server may keep a lease too long: drift, and the grain of its clock.
func slack(h history.Header) int64 { return h.Drift + clockGrain }

// clockGrain is in nanoseconds: servers count the ends of leases in milliseconds.
const clockGrain = 1_000_000

func (a *archive) findHolds(k *keyLog, ev *evidence) error {
	p := &holdPass{a: a, k: k, keep: never, crashes: ev.crashes(a), clients: map[uint32]*clientHolds{}}
	if a.header.Lease > 0 {
		p.keep = a.header.Lease + slack(a.header)
	}
	k.orphans = map[uint32]int64{}
	for c := k.walk(); ; {
		r := c.next()
		if r == nil {
			break
		}
		if err := p.step(r); err != nil {
			return err
		}
	}
	for _, client := range slices.Sorted(maps.Keys(p.clients)) {
		p.leave(client, p.clients[client], ev)
	}
	return nil
}

// crashes returns the instants of confirmed crashes by client number; of clients that did nothing there are none.
func (e *evidence) crashes(a *archive) map[uint32][]int64 {
	at := map[string][]int64{}
	for _, w := range e.faults {
		if w.Fault == faultCrashClient && w.Confirmed {
			at[w.Client] = append(at[w.Client], w.Start)
		}
	}
	out := map[uint32][]int64{}
	if len(at) == 0 {
		return out
	}
	for n := range uint32(a.clients.where.n) {
		if list := at[a.clients.text(n)]; list != nil {
			out[n] = list
		}
	}
	return out
}

func (p *holdPass) step(r *record) error {
	who := p.clients[r.client]
	if who == nil {
		who = &clientHolds{idleAt: math.MinInt64, unsure: never, lost: never}
		p.clients[r.client] = who
	}
	if !r.spanning() {
		if r.call < who.idleAt {
			return p.a.broken(r.line, "client %q calls %s at %d while its operation of line %d on the same key is not over before %d; one client does one thing at a time",
				p.a.clients.text(r.client), r.op, r.call, who.lastLine+1, who.idleAt)
		}
		who.idleAt, who.lastLine = r.ret, r.line
		p.settle(who, r.call)
	}
	switch r.op {
	case history.Acquire:
		p.acquire(who, r)
	case history.Extend:
		p.extend(who, r)
	case history.Release:
		p.release(who, r)
	case history.Lost:
		if h := p.find(who, r); h != nil {
			p.tell(who, h, notice{at: r.call, kind: toldLost, r: r})
		}
	case history.Use, history.Write:
		p.use(who, r)
	}
	return nil
}

// find returns the open hold that an operation belongs to, nil if there is none, and remembers it.
func (p *holdPass) find(who *clientHolds, r *record) *openHold {
	token := p.k.tokenOf(r)
	var found, left *openHold
	for i := len(who.open) - 1; i >= 0; i-- {
		h := who.open[i]
		switch {
		case h.closed <= r.call || h.r.ret > r.call && r.op != history.Extend: // a watchdog may be quicker than the call that started it
		case token != 0 && h.token == token, token == 0 && h.r.ret <= r.call && !(r.modeNamed && h.r.mode != r.mode):
			if h.left && r.op == history.Release { // the next release is rather that of the hold around it
				left = cmp.Or(left, h)
				continue
			}
			found, left, i = h, nil, 0
		case h.r.ret > r.call || token != 0 && h.token != 0 || r.modeNamed && h.r.mode != r.mode:
		case found == nil:
			found = h
		}
	}
	found = cmp.Or(left, found)
	if found != nil {
		p.a.holdOf[r.line-1] = found.index
	}
	return found
}

// told returns until when the answer r protects its holder: for certain, and perhaps.
func (p *holdPass) told(r *record) (until, doubt int64) {
	h, d := p.a.header, p.k.detailOf(r)
	switch {
	case d.until > r.ret:
		return d.until, d.until
	case h.Lease == 0:
		return never, never
	}
	if asked := p.k.asked(r); asked != 0 {
		end := plus(asked, h.Lease-h.Drift)
		return end, end
	}
	end := plus(r.call, h.Lease-h.Drift)
	if r.op == history.Acquire && r.ret-r.call >= (h.Lease+9)/10 {
		return end, plus(r.ret, h.Lease-h.Drift) // the try that was granted began at some time of the call
	}
	return end, end
}

func (p *holdPass) acquire(who *clientHolds, r *record) {
	reentrant := p.a.header.Kind == history.Reentrant
	if r.outcome == history.Unknown {
		who.unsure, who.lost = min(who.unsure, r.call), min(who.lost, r.call)
		for _, h := range who.open {
			if reentrant {
				h.maybe++
			}
		}
	}
	if !r.granted() {
		return
	}
	p.forget(who, r.call)
	until, doubt := p.told(r)
	for _, h := range who.open {
		if reentrant {
			p.tell(who, h, notice{at: r.ret, kind: toldReentry, until: until, doubt: doubt})
		}
	}
	h := p.begin(who, r, until, doubt)
	h.d.role = starts
	for _, outer := range who.open {
		if reentrant && outer != h && !outer.ended && outer.until >= r.ret {
			h.d.role = nested
			p.k.reentries++
		}
	}
	p.takeEarly(who, h, r)
	who.unsure = never
}

// maxOpen is how many holds of one client that it never released are remembered: only an operation with the token of one more than that ago would
// not find it.
const maxOpen = 64

// forget closes the holds that nothing belongs to any more.
func (p *holdPass) forget(who *clientHolds, now int64) {
	kept := who.open[:0]
	for i, h := range who.open {
		if h.closed > now && len(who.open)-i < maxOpen {
			kept = append(kept, h)
		} else {
			p.close(who, h)
		}
	}
	clear(who.open[len(kept):])
	who.open = kept
}

// takeEarly returns a hold the extends by its token that were called before its acquire returned: a watchdog may be quicker than the call that started it.
func (p *holdPass) takeEarly(who *clientHolds, h *openHold, r *record) {
	for _, x := range who.early {
		if p.k.tokenOf(x) == h.token && x.ret >= r.call && h.token != 0 {
			p.a.holdOf[x.line-1] = h.index
			p.extended(who, h, x)
		} else {
			p.ownerless(who, x)
		}
	}
	who.early = who.early[:0]
}

// ownerless notes an operation that was accepted and belongs to no hold, unless an acquire of unknown outcome may have begun one.
func (p *holdPass) ownerless(who *clientHolds, x *record) {
	if x.outcome == history.OK && who.lost > x.ret {
		p.k.claims = append(p.k.claims, claim{x, nil})
	}
}

// begin opens a hold with an operation.
func (p *holdPass) begin(who *clientHolds, r *record, until, doubt int64) *openHold {
	d := p.k.detailOf(r)
	h := &openHold{d: d, index: r.detail, r: r, token: d.token, belief: d, until: until, doubt: doubt, closed: never, effect: r.ret, cap: never}
	d.role, d.began = starts, r
	p.a.holdOf[r.line-1] = r.detail
	who.open = append(who.open, h)
	for _, at := range p.crashes[r.client] {
		if at >= r.ret {
			h.notices = append(h.notices, notice{at: at, kind: died})
			break
		}
	}
	return h
}

func (p *holdPass) extend(who *clientHolds, r *record) {
	p.settle(who, r.call)
	h := p.find(who, r)
	if h == nil {
		who.early = append(who.early, r)
		return
	}
	if r.outcome == history.OK {
		p.claim(h, r)
	}
	p.extended(who, h, r)
}

// extended applies an extend to its hold; of a re-entrant lock to all that its client has.
func (p *holdPass) extended(who *clientHolds, h *openHold, r *record) {
	r.mode = h.r.mode // an extend says nothing of its own; a belief that it starts is of the hold's
	for _, o := range who.open {
		if o != h && (p.a.header.Kind != history.Reentrant || o.closed <= r.call) {
			continue
		}
		switch r.outcome {
		case history.OK:
			until, doubt := p.told(r)
			p.k.detailOf(r).role = nested
			n := notice{at: r.ret, kind: toldRenewal, until: until, doubt: doubt, r: r}
			if o != h {
				n.r = nil
			}
			p.tell(who, o, n)
		case history.Unknown:
			o.maybe++
		case history.LostHold, history.NotHeld:
			o.cap = min(o.cap, r.ret)
			n := notice{at: r.ret, kind: toldLost}
			if o == h {
				n.r = r
			}
			p.tell(who, o, n)
		}
	}
}

func (p *holdPass) release(who *clientHolds, r *record) {
	h := p.find(who, r)
	if h != nil && r.outcome == history.OK {
		p.claim(h, r)
	}
	if h == nil {
		p.ownerless(who, r)
		p.k.cleanups = p.k.cleanups || who.unsure < never
		return
	}
	if r.outcome == history.NotHeld || r.outcome == history.LostHold {
		p.deny(h, r)
	}
	p.end(h, r.call)
	h.releases = true
	if h.release == nil {
		h.release = r
		h.d.release = r
	}
	h.left = h.left || r.outcome == history.Unknown
	for _, o := range who.open {
		if p.a.header.Kind != history.Reentrant || o == h || o.closed <= r.call {
			continue
		}
		switch r.outcome {
		case history.OK:
			o.effect = max(o.effect, r.ret)
			p.k.reentries++
		case history.Unknown:
			o.maybe++
		case history.NotHeld, history.LostHold:
			o.cap = min(o.cap, r.ret)
			p.tell(who, o, notice{at: r.ret, kind: toldLost})
		}
	}
	switch r.outcome {
	case history.OK, history.NotHeld, history.LostHold:
		h.cap, h.closed = min(h.cap, r.ret), r.ret
		h.d.released = true
	}
}

// denial is an answer that a hold is gone though its lease was running, as far as its client had been told.
type denial struct {
	r     *record
	h     *detail
	until int64 // what the client had been told
}

func (p *holdPass) deny(h *openHold, r *record) {
	if r != nil && !h.ended && h.until > r.ret {
		p.k.denials = append(p.k.denials, denial{r, h.d, h.until})
	}
}

// claim is an accepted release or extend whose hold cannot have been there any more; h is nil where there was none.
type claim struct {
	r *record
	h *detail
}

// claim notes r if the lease of its hold had surely ended by its call, whatever else was under way.
func (p *holdPass) claim(h *openHold, r *record) {
	last := *h
	for _, n := range h.notices {
		if n.kind <= toldReentry {
			last.renew(n)
		}
	}
	if last.gone(p) < r.call {
		p.k.claims = append(p.k.claims, claim{r, h.d})
	}
}

// use notes in which hold a critical section or a write lies; a section without a mode has that of its hold.
func (p *holdPass) use(who *clientHolds, r *record) {
	p.settle(who, r.call)
	h := p.find(who, r)
	switch {
	case h == nil:
	case r.op == history.Use && !r.modeNamed:
		r.mode = h.r.mode
	case r.op == history.Write && manyMayHold(p.a.header, h.r.mode) && (r.outcome == history.OK || r.outcome == history.Unknown):
		p.k.sharedWrites = true
	}
}

// manyMayHold reports whether a hold of the mode may be one of several.
func manyMayHold(h history.Header, m history.Mode) bool {
	return h.Kind == history.RW && m == history.Shared || h.Kind == history.Semaphore && h.Permits > 1
}

// tell puts a notice among those of a hold, in order of time; at one instant in that of their kinds.
func (p *holdPass) tell(who *clientHolds, h *openHold, n notice) {
	at, _ := slices.BinarySearchFunc(h.notices, n, func(a, b notice) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind), -1)
	})
	h.notices = slices.Insert(h.notices, at, n)
}

// settle applies what a client was told by time t.
func (p *holdPass) settle(who *clientHolds, t int64) {
	for i := 0; i < len(who.open); i++ { // a renewal may begin a hold
		h := who.open[i]
		for len(h.notices) > 0 && h.notices[0].at <= t {
			n := h.notices[0]
			h.notices = h.notices[1:]
			p.apply(who, h, n)
		}
	}
}

func (p *holdPass) apply(who *clientHolds, h *openHold, n notice) {
	switch {
	case h.next != nil:
		p.apply(who, h.next, n)
	case n.kind == toldLost:
		p.deny(h, n.r)
		h.lost = true
		p.end(h, n.at)
	case n.kind == died:
		p.end(h, n.at)
	case h.ended:
		if h.lost && !h.releases && n.kind == toldRenewal && n.r != nil {
			h.next = p.begin(who, n.r, n.until, n.doubt)
			h.next.token = h.token
		} else {
			h.renew(n)
		}
	case n.at <= h.until:
		h.renew(n)
		h.until, h.doubt = max(h.until, n.until), max(h.doubt, n.doubt)
	case n.kind == toldReentry:
		h.renew(n)
		if n.at <= h.doubt {
			h.doubt = max(h.doubt, n.doubt)
		}
	default: // too late: the belief had ended, or may have, and another starts
		h.renew(n)
		p.finish(h, min(h.doubt, n.at))
		if n.r == nil {
			h.until, h.doubt, h.ended = n.at, n.at, true // an outer hold whose inner one was extended; that one goes on
			return
		}
		d := p.k.detailOf(n.r)
		d.role, d.began = starts, n.r
		h.belief, h.until, h.doubt = d, n.until, n.doubt
		h.resumed = append(h.resumed, d)
	}
}

// renew notes an effect on the server's mark.
func (h *openHold) renew(n notice) { h.effect = max(h.effect, n.at) }

// end ends the belief of a hold for good.
func (p *holdPass) end(h *openHold, t int64) {
	if h.ended {
		return
	}
	h.until = min(h.until, t)
	p.finish(h, min(h.doubt, t))
	h.ended = true
}

// finish writes down the present belief.
func (p *holdPass) finish(h *openHold, doubt int64) {
	h.belief.end = h.until
	if doubt > max(h.until, h.belief.began.ret) {
		p.k.doubt(h.belief, doubt)
	}
}

// gone is the last instant at which the server can have kept a hold.
func (h *openHold) gone(p *holdPass) int64 {
	gone := plus(h.effect, p.keep)
	for range h.maybe {
		gone = plus(gone, p.keep)
	}
	return min(gone, h.cap)
}

// close writes down a hold that nothing belongs to any more.
func (p *holdPass) close(who *clientHolds, h *openHold) {
	for _, n := range h.notices {
		p.apply(who, h, n)
	}
	h.notices = nil
	if !h.ended {
		p.finish(h, h.doubt)
		h.ended = true
	}
	h.d.gone = h.gone(p)
	for _, d := range h.resumed {
		d.gone = h.d.gone
	}
	if h.d.gone == never && h.release != nil && !h.d.released {
		p.k.orphans[h.index] = h.release.ret
	}
}

// leave closes what a client left open at the end of the history.
func (p *holdPass) leave(client uint32, who *clientHolds, ev *evidence) {
	p.settle(who, never-1)
	for _, x := range who.early {
		p.ownerless(who, x)
	}
	for i := 0; i < len(who.open); i++ {
		h := who.open[i]
		p.close(who, h)
		if list := p.crashes[client]; len(list) > 0 && h.d.gone == never && !h.d.released {
			p.k.orphans[h.index] = max(list[0], who.idleAt)
		}
	}
	for _, at := range p.crashes[client] {
		// What it was doing when it died was not recorded; where its commands show that it was doing something, that may have been an acquire.
		if sent := ev.commandsOf(p.a.clients.text(client), who.idleAt, at); len(sent) > 0 {
			p.k.crashes = append(p.k.crashes, crashHold{min(who.idleAt, at), at, plus(at, p.keep)})
		}
	}
}

// crashHold is a time in which a client that crashed may have held the lock by a request that nobody recorded.
type crashHold struct{ from, died, to int64 }

// tokenOf is the number+1 of an operation's token in the dictionary; 0 when it has none.
func (k *keyLog) tokenOf(r *record) uint32 {
	if r.detailed() {
		return k.detailOf(r).token
	}
	return r.detail
}

// rare is what few details have.
type rare struct {
	asked int64 // of an acquire: when the granted try began
	doubt int64 // of a belief whose end isn't known: the latest that it can have been
}

func (k *keyLog) asked(r *record) int64 {
	if d := k.detailOf(r); d.rare != 0 {
		return k.rares.at(int(d.rare) - 1).asked
	}
	return 0
}

// doubt notes that a belief may have lasted until t.
func (k *keyLog) doubt(d *detail, t int64) {
	if d.rare == 0 {
		d.rare = uint32(k.rares.add(rare{}))
	}
	k.rares.at(int(d.rare) - 1).doubt = t
	k.doubts = true
}

// perhaps is the latest instant at which a belief can have ended.
func (k *keyLog) perhaps(d *detail) int64 {
	if d.rare == 0 {
		return d.end
	}
	return max(d.end, k.rares.at(int(d.rare)-1).doubt)
}

// from is the earliest instant at which the server can have given what r was granted.
func (k *keyLog) from(r *record) int64 { return max(r.call, k.asked(r)) }

// holdOf returns the detail of the hold that an operation belongs to or begins, nil if there is none.
func (d *keyInput) holdOf(r *record) *detail {
	if n := d.a.holdOf[r.line-1]; n != 0 {
		return d.k.details.at(int(n) - 1)
	}
	return nil
}
