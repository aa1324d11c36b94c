package checker

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Holds (see docs/verdicts.md), found in one pass over a key's records by call. belief.go has what the lock has told a client, possible.go what the
// server can have kept.
//
// A hold begins with an acquire that returned ok, or with an ok extend after its client learnt of the loss. An extend, release or lost belongs to the
// open hold of its client with its token; if one of them has no token, to the innermost open one, in its mode if it names one. A hold stays open
// after a release that ended fail or unknown, and after lost, although its belief has ended. An operation that matches no hold ends and extends
// nothing. A use lies in a hold that is open at its call.
//
// Re-entrant holds nest, one for each granted acquire. The server keeps one key for them, so a re-entry and an extend renew all of a client's holds,
// and an inner release may. A reply that the key is gone (not_held, lost) is one to an operation of one hold and ends the belief in that.
//
// Where docs/verdicts.md leaves a choice: a reply that a hold is gone, at the instant at which its client was granted another under the same token, is one
// to an operation of the hold before. If a release of unknown outcome is followed by another of its client, the second belongs to the hold around
// the first's, if it may mean that by its token and mode: the first may have had its effect. A hold that an extend begins after a loss takes the
// place of the one before, which is no longer open: an extend after the release of the new one belongs to none. Of several extends under way at the
// loss the first to return ok begins it, and those that return later belong to it: they renew one key of the server, and one hold is one permit.

// holdPass is the pass over one key.
type holdPass struct {
	a       *archive
	k       *keyLog
	ev      *evidence
	keep    int64 // see keep
	clients map[uint32]*clientHolds
	granted numbers                   // numbers of the tokens that grants returned
	endless map[*clientHolds][]uint32 // of clients that crashed: the holds that neither a lease nor a release ended
}

// numbers is a set of small numbers.
type numbers []uint64

func (b *numbers) add(n uint32) {
	if need := int(n/64) + 1 - len(*b); need > 0 {
		*b = append(*b, make(numbers, need)...)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b numbers) has(n uint32) bool { return int(n/64) < len(b) && b[n/64]&(1<<(n%64)) != 0 }

// clientHolds is the state of one client on the key.
type clientHolds struct {
	idleAt   int64 // return of its last operation that is not spanning
	lastLine uint32
	entries  int32       // of a re-entrant lock's client: how many acquires of unknown outcome there are, each of which may renew its holds
	pending  int32       // and how many extends and releases of unknown outcome that may still renew the next
	dropped  int32       // and how many could no longer when newest was granted
	newest   *openHold   // its latest grant
	open     []*openHold // in the order of their acquires
	early    []early     // extends whose token matches no open hold: perhaps that of a pending acquire
	unsure   int64       // call of the first acquire of unknown outcome since the last grant; never = none
	lost     [2]int64    // by mode, call of the first of all: it may take effect at any time
	crashes  []int64     // instants of its confirmed crashes, ascending
}

// early is an extend that belongs to no hold yet.
type early struct {
	*record
	named   bool // an earlier grant returned its token
	excused bool // it may have found the hold of an acquire that was under way
}

// openHold is a hold to which further operations may belong.
type openHold struct {
	r       *record // the operation that began it
	d       *detail // of r
	token   uint32
	ended   bool    // the belief has ended for good
	lost    bool    // because of a loss: an ok extend begins a new hold
	left    bool    // one of unknown outcome
	belief  *detail // where the current belief began
	until   int64   // the current belief certainly lasts until here,
	doubt   int64   // and at most until here
	closed  int64   // from when on it is no longer open
	effect  int64   // the latest effect known to have happened
	maybe   int64   // how many effects of unknown outcome may have followed
	caps    []int64 // it was gone by then: returns of accepted releases and of replies that it is gone
	again   int64   // the latest return of an extend of it that was accepted although it was gone
	next    *openHold
	notices []notice
	reused  bool    // an earlier grant had its token
	denied  *record // the latest reply that it was gone although its lease was running
}

func (a *archive) findHolds(k *keyLog, ev *evidence) error {
	p := &holdPass{a: a, k: k, ev: ev, keep: keep(a.header), clients: map[uint32]*clientHolds{}, endless: map[*clientHolds][]uint32{}}
	k.denied, k.claims, k.anew = map[*record]*detail{}, map[*record]int64{}, map[*record]*detail{}
	k.orphans, k.owned, k.behind = map[uint32]int64{}, map[uint32]int64{}, map[*record][]history.Command{}
	for r := range k.walk() {
		if err := p.step(r); err != nil {
			return err
		}
	}
	for _, client := range slices.Sorted(maps.Keys(p.clients)) {
		p.closeAll(client, p.clients[client])
	}
	return nil
}

func (p *holdPass) step(r *record) error {
	who := p.clients[r.client]
	if who == nil {
		who = &clientHolds{idleAt: math.MinInt64, unsure: never, lost: [2]int64{never, never}, crashes: p.ev.crashes(p.a.clients.Text(r.client))}
		p.clients[r.client] = who
	}
	if !r.spanning() {
		if r.call < who.idleAt {
			return p.a.broken(r.line, "client %q calls %s at %d while its operation of line %d on the same key is not over before %d; one client does one thing at a time",
				p.a.clients.Text(r.client), r.op, r.call, who.lastLine+1, who.idleAt)
		}
		who.idleAt, who.lastLine = r.ret, r.line
	}
	if r.op == history.Acquire || r.op == history.Release {
		p.settle(who, r.call, lastNotice)
	} else {
		p.settle(who, r.call, lastRenewal)
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
			h.addNotice(notice{at: r.call, kind: noticeLost, atOnce: r.call == r.ret, r: r})
		}
	case history.Use, history.Write:
		p.use(who, r)
	}
	return nil
}

// find returns the open hold to which an operation belongs, nil if there is none, and records it.
func (p *holdPass) find(who *clientHolds, r *record) *openHold {
	token := p.k.tokenOf(r)
	var found, left, early, touched *openHold
	for i := len(who.open) - 1; i >= 0; i-- {
		h := who.open[i]
		switch {
		case h.closed == r.call && r.op == history.Extend && r.outcome == history.OK && mayMean(r, token, h.r, h.token):
			touched = cmp.Or(touched, h) // it may have come before the release that returned at this instant
		case r.saysGone() && h.reused && h.r.call >= r.ret: // it may have come before, and mean the one before
		case h.closed <= r.call || h.r.ret > r.call && (r.op != history.Extend || r.outcome != history.OK):
		case token != 0 && h.token == token && h.r.ret > r.call: // a watchdog may extend before its acquire returns
			early = cmp.Or(early, h)
		case token != 0 && h.token == token, token == 0 && h.r.ret <= r.call && r.stated.fits(h.r.mode):
			if h.left && r.op == history.Release { // the next release rather belongs to the hold around it
				left = cmp.Or(left, h)
				continue
			}
			found, left, early, i = h, nil, nil, 0
		case h.r.ret > r.call || token != 0 && h.token != 0 || !r.stated.fits(h.r.mode):
		case found == nil:
			found = h
		}
	}
	found = cmp.Or(left, early, found, touched)
	if work := r.op == history.Use || r.op == history.Write; found == nil && work && r.stated != 0 { // a critical section may have another mode than its hold
		unnamed := *r
		unnamed.stated = 0
		return p.find(who, &unnamed)
	}
	if found != nil {
		p.a.holdOf[r.line-1] = found.r.detail
	}
	return found
}

func (p *holdPass) acquire(who *clientHolds, r *record) {
	reentrant := p.a.header.Kind == history.Reentrant
	if r.outcome == history.Unknown {
		who.unsure, who.lost[r.mode] = min(who.unsure, r.call), min(who.lost[r.mode], r.call)
	}
	if r.outcome == history.Unknown && reentrant {
		who.entries++
		for _, h := range who.open {
			p.perhaps(h, r)
		}
	}
	if !r.granted() {
		return
	}
	token := p.k.tokenOf(r)
	reused := token != 0 && p.granted.has(token)
	p.granted.add(token)
	p.forget(who, r.call)
	until, doubt := p.protectedUntil(r)
	inside := false // the server may have kept a hold of the client until then
	for _, h := range who.open {
		if reentrant && h.closed > r.call {
			late := p.keptUntil(h, r.call) < p.k.from(r)
			inside = inside || !late
			h.addNotice(notice{at: r.ret, called: r.call, kind: noticeReentry, atOnce: r.call == r.ret, late: late, until: until, doubt: doubt})
		}
	}
	h := p.begin(who, r, until, doubt)
	h.reused = reused
	who.newest, who.dropped = h, 0
	h.d.fresh = reentrant && !inside && who.entries == 0
	if !inside {
		who.pending, who.dropped = 0, who.pending
	}
	h.maybe = int64(who.entries + who.pending)
	p.takeEarly(who, h, r)
	p.settle(who, r.call, lastNotice) // what was extended until this instant may be entered again
	for _, outer := range who.open {
		if reentrant && outer != h && !outer.ended && outer.until >= r.ret {
			h.d.role = nested
		}
	}
	who.unsure = never
}

// maxOpen is how many unreleased holds of one client are kept: only an operation with the token of an older one would not find its hold.
const maxOpen = 64

// forget closes holds to which no further operation can belong.
func (p *holdPass) forget(who *clientHolds, now int64) {
	kept := who.open[:0]
	for i, h := range who.open {
		if h.closed >= now && len(who.open)-i < maxOpen {
			kept = append(kept, h)
		} else {
			p.close(who, h)
		}
	}
	clear(who.open[len(kept):])
	who.open = kept
}

// takeEarly assigns to a hold the extends with its token that were called before its acquire returned: a watchdog may be that early. Others that were
// under way wait for the next; this hold excuses those that it may have been asked for.
func (p *holdPass) takeEarly(who *clientHolds, h *openHold, r *record) {
	waiting := who.early[:0]
	for _, x := range who.early {
		switch token := p.k.tokenOf(x.record); {
		case !calledWithin(r.call, x.record):
			p.ownerless(who, x)
		case x.outcome == history.OK && token == h.token && token != 0:
			p.a.holdOf[x.line-1] = h.r.detail
			p.extended(who, h, x.record)
		default:
			x.excused = x.excused || token == 0 || h.token == 0
			waiting = append(waiting, x)
		}
	}
	who.early = waiting
}

// ownerless records an accepted operation that belongs to no hold, unless an acquire of unknown outcome may have begun one. A token that an earlier
// grant returned means that grant.
func (p *holdPass) ownerless(who *clientHolds, x early) {
	pending := never
	for m, at := range who.lost {
		if x.stated.fits(history.Mode(m)) {
			pending = min(pending, at)
		}
	}
	if x.outcome == history.OK && !x.excused && (!calledWithin(pending, x.record) || x.named) {
		p.k.claims[x.record] = never
	}
}

// named returns an operation that belongs to no hold, and whether an earlier grant returned its token.
func (p *holdPass) named(r *record) early {
	token := p.k.tokenOf(r)
	return early{record: r, named: token != 0 && p.granted.has(token)}
}

// begin opens a hold with an operation.
func (p *holdPass) begin(who *clientHolds, r *record, until, doubt int64) *openHold {
	d := p.k.detailOf(r)
	h := &openHold{d: d, r: r, token: d.token, belief: d, until: until, doubt: doubt, closed: never, effect: r.ret, again: math.MinInt64}
	d.role, d.began = starts, r
	p.a.holdOf[r.line-1] = r.detail
	who.open = append(who.open, h)
	for _, at := range who.crashes {
		if at >= r.ret {
			h.notices = append(h.notices, notice{at: at, kind: noticeDied})
			break
		}
	}
	return h
}

func (p *holdPass) extend(who *clientHolds, r *record) {
	h := p.find(who, r)
	if h == nil {
		x := p.named(r)
		x.excused = p.mayMeanPending(who, r)
		who.early = append(who.early, x)
		return
	}
	if r.outcome == history.OK {
		p.claim(who, h, r)
	}
	p.extended(who, h, r)
}

// mayMeanPending reports whether an extend that belongs to no hold may have found that of an acquire under way: without tokens that can't be told.
func (p *holdPass) mayMeanPending(who *clientHolds, r *record) bool {
	return slices.ContainsFunc(who.open, func(h *openHold) bool { return h.r.ret > r.call && (h.token == 0 || p.k.tokenOf(r) == 0) })
}

// extended applies an extend to its hold, or for a re-entrant lock to all holds of its client.
func (p *holdPass) extended(who *clientHolds, h *openHold, r *record) {
	r.mode = h.r.mode // an extend states no mode; a belief that it starts has the hold's
	_, again := p.k.claims[r]
	if again {
		h.again = max(h.again, r.ret)
		p.undrop(who, r)
	}
	if r.outcome == history.Unknown {
		who.pending++
	}
	for _, o := range who.open {
		if o != h && (p.a.header.Kind != history.Reentrant || o.closed <= r.call || o.r.ret > r.call) {
			continue
		}
		switch r.outcome {
		case history.OK:
			until, doubt := p.protectedUntil(r)
			p.k.detailOf(r).role = nested
			n := notice{at: r.ret, kind: noticeRenewal, atOnce: r.call == r.ret, again: again, until: until, doubt: doubt, r: r}
			if o != h {
				n.r, n.called, n.again, n.late = nil, r.call, false, !p.kept(o, r)
			}
			o.addNotice(n)
		case history.Unknown:
			p.perhaps(o, r)
		case history.LostHold, history.NotHeld:
			if o == h {
				o.addNotice(notice{at: r.ret, kind: noticeLost, atOnce: r.call == r.ret, r: r})
			}
		}
	}
}

// undrop considers that an extend which made a hold again may have done so before the grant that was under way: then that entered it.
func (p *holdPass) undrop(who *clientHolds, r *record) {
	if h := who.newest; h != nil && calledWithin(r.call, h.r) {
		h.maybe, who.pending, who.dropped = h.maybe+int64(who.dropped), who.pending+who.dropped, 0
	}
}

func (p *holdPass) release(who *clientHolds, r *record) {
	h := p.find(who, r)
	if h != nil && r.outcome == history.OK {
		p.claim(who, h, r)
	}
	if h == nil {
		p.ownerless(who, p.named(r))
		p.k.cleanups = p.k.cleanups || who.unsure < never
		return
	}
	if r.saysGone() {
		p.deny(who, h, r)
	} else {
		p.undeny(h, r)
	}
	p.end(h, r.call)
	if h.d.release == nil {
		h.d.release = r
		p.k.owned[h.r.detail] = p.leaseUntil(h, r.call) // what renews it from now on renews it for nobody
	}
	if r.outcome == history.Unknown {
		h.left = true
		who.pending++
	}
	for _, o := range who.open {
		if p.a.header.Kind != history.Reentrant || o == h || o.closed <= r.call {
			continue
		}
		switch r.outcome {
		case history.OK:
			if p.kept(o, r) {
				o.effect = max(o.effect, r.ret)
			}
		case history.Unknown:
			p.perhaps(o, r)
		}
	}
	switch {
	case r.outcome == history.OK && innerLeft(who, h, r.call):
		h.closed = r.ret
	case r.outcome == history.OK || r.saysGone():
		h.limit(r)
		h.closed = r.ret
	}
}

// innerLeft reports whether a hold inside h was left by a release of unknown outcome: if that had no effect, the next release ends the inner hold, and
// h may still be there.
func innerLeft(who *clientHolds, h *openHold, at int64) bool {
	i := slices.Index(who.open, h)
	return slices.ContainsFunc(who.open[i+1:], func(o *openHold) bool { return o.left && o.closed > at })
}

// use finds the hold in which a critical section or a write lies; a section without a mode gets that of its hold.
func (p *holdPass) use(who *clientHolds, r *record) {
	h := p.find(who, r)
	switch {
	case h == nil:
	case r.op == history.Use && r.stated == 0:
		r.mode = h.r.mode
	case r.op == history.Write && manyMayHold(p.a.header, h.r.mode) && (r.outcome == history.OK || r.outcome == history.Unknown):
		p.k.sharedWrites = true
	}
}

// manyMayHold reports whether a hold of the mode may be one of several.
func manyMayHold(h history.Header, m history.Mode) bool {
	return h.Kind == history.RW && m == history.Shared || Permits(h) > 1
}

// close stores a hold to which no further operation can belong.
func (p *holdPass) close(who *clientHolds, h *openHold) {
	for _, n := range h.notices {
		p.apply(who, h, n)
	}
	h.notices = nil
	if !h.ended {
		p.finish(h, h.doubt)
		h.ended = true
	}
	before := never
	if h.d.release != nil {
		before = h.d.release.call
	}
	h.d.gone = h.gone(p, before)
	if p.k.owned[h.r.detail] >= h.d.gone {
		delete(p.k.owned, h.r.detail)
	}
	if sent := p.behind(h, before); len(sent) > 0 {
		p.k.behind[h.r] = sent
	}
	if h.d.gone != never {
		return
	}
	if h.d.release != nil {
		p.k.orphans[h.r.detail] = h.d.release.ret
	}
	if len(who.crashes) > 0 {
		p.endless[who] = append(p.endless[who], h.r.detail)
	}
}

// closeAll closes the holds that a client left open at the end of the history.
func (p *holdPass) closeAll(client uint32, who *clientHolds) {
	p.settle(who, never-1, lastNotice)
	for _, x := range who.early {
		p.ownerless(who, x)
	}
	for i := 0; i < len(who.open); i++ {
		p.close(who, who.open[i])
	}
	for _, hold := range p.endless[who] {
		p.k.orphans[hold] = max(who.crashes[0], who.idleAt)
	}
	for _, at := range who.crashes {
		// What it was doing when it died was not recorded; if its commands show any activity, that may have been an acquire.
		if sent := p.ev.commandsOf(p.a.clients.Text(client), who.idleAt, at); len(sent) > 0 {
			p.k.crashes = append(p.k.crashes, crashHold{min(who.idleAt, at), at, plus(at, p.keep)})
		}
	}
}

// tokenOf returns the number of an operation's token; 0 if it has none.
func (k *keyLog) tokenOf(r *record) uint32 {
	if r.detailed() {
		return k.detailOf(r).token
	}
	return r.detail
}

// holdOf returns the detail of the hold to which an operation belongs or which it begins, nil if there is none.
func (d *keyInput) holdOf(r *record) *detail {
	if n := d.a.holdOf[r.line-1]; n != 0 {
		return d.k.details.At(n)
	}
	return nil
}
