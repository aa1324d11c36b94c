package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Belief: what the lock has told a client (see docs/verdicts.md). It lasts from the return of the acquire to the first of: the call of its release;
// lost; a confirmed crash of that client; the return of a refused extend; until.
//
// Until is the latest valid-until of the acquire and the successful extends. One without a valid-until counts as asked + lease − drift; without
// asked, as call + lease − drift, but for an acquire only if it took less than a tenth of the lease: otherwise the end of the belief is unknown. An
// extend that returns after until leaves a gap.
//
// Where docs/verdicts.md leaves a choice: of a renewal and a loss at one instant the renewal came first, so that the belief is the shorter one,
// unless the loss is the answer to an operation that was under way and the renewal took no time; a crash comes before all else of its instant; a
// failed or unknown release ends the belief, and no later extend restores it.

// notice is what the holder learns at an instant that the pass has not reached yet.
type notice struct {
	at           int64
	called       int64 // of what another hold of the client renewed with this one: when that was called
	kind         noticeKind
	atOnce       bool    // the operation that it answers took no time
	late         bool    // renewals: asked when the server can't have kept the hold any more
	again        bool    // renewals: accepted although the hold was gone
	until, doubt int64   // renewals
	r            *record // renewals by an extend, and losses
}

// turn orders the notices of one instant: a crash comes first, and what answers an operation that was under way before what answers one that took no
// time.
func (n *notice) turn() noticeKind {
	if n.atOnce {
		return n.kind + noticeLost
	}
	return n.kind
}

// renews reports whether a notice answers an operation that may have renewed the server's key.
func (n *notice) renews() bool {
	return (n.kind == noticeRenewal || n.kind == noticeReentry) && !n.late
}

type noticeKind uint8

const (
	noticeDied    noticeKind = iota
	noticeRenewal            // by an extend
	noticeReentry
	noticeLost // by a refused extend or a notice of a loss

	lastRenewal = noticeLost + noticeReentry // the last turn of a renewal
	lastNotice  = 2 * noticeLost
)

// protectedUntil returns until when the reply to r protects its holder: certainly, and at most.
func (p *holdPass) protectedUntil(r *record) (until, doubt int64) {
	h, d := p.a.header, p.k.detailOf(r)
	switch {
	case d.saysUntil(r):
		return d.until, d.until
	case h.Lease == 0:
		return never, never
	}
	if asked, known := p.k.asked(r); known {
		end := plus(asked, h.Lease-h.Drift)
		return end, end
	}
	end := plus(r.call, h.Lease-h.Drift)
	if r.op == history.Acquire && r.ret-r.call >= (h.Lease+9)/10 {
		return end, plus(r.ret, h.Lease-h.Drift) // the granted attempt began at some time during the call
	}
	return end, end
}

// saysUntil reports whether the reply to r, of which d is the detail, said until when its holder is protected. One before the return means nothing.
func (d *detail) saysUntil(r *record) bool { return d.until != 0 && d.until > r.ret }

// addNotice inserts a notice among those of a hold, by time; at one instant, by turn.
func (h *openHold) addNotice(n notice) {
	at, _ := slices.BinarySearchFunc(h.notices, n, func(a, b notice) int {
		return cmp.Or(byTurn(a, b), -1)
	})
	h.notices = slices.Insert(h.notices, at, n)
}

// byTurn orders notices by time; at one instant, by turn.
func byTurn(a, b notice) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.turn(), b.turn()))
}

// settle applies the notices of a client before time t, and those at t up to a turn, in order of time; at one instant those of an earlier hold first.
func (p *holdPass) settle(who *clientHolds, t int64, turn noticeKind) {
	for {
		var next *openHold
		for _, h := range who.open { // a renewal may begin a hold
			if len(h.notices) > 0 && (next == nil || h.notices[0].at < next.notices[0].at) {
				next = h
			}
		}
		if next == nil || next.notices[0].at > t || next.notices[0].at == t && next.notices[0].turn() > turn {
			return
		}
		n := next.notices[0]
		next.notices = next.notices[1:]
		p.apply(who, next, n)
	}
}

func (p *holdPass) apply(who *clientHolds, h *openHold, n notice) {
	switch {
	case h.next != nil && n.kind != noticeDied && n.r == nil && n.called < h.next.r.ret: // asked before that hold began
	case h.next != nil:
		if n.r != nil && n.r.op == history.Extend {
			p.a.holdOf[n.r.line-1] = h.next.r.detail
		}
		h.next.addNotice(n) // among those that it has itself
	case n.kind == noticeLost:
		if n.r.op != history.Lost {
			h.limit(n.r)
		}
		p.deny(who, h, n.r)
		h.lost = true
		p.end(h, n.at)
	case n.kind == noticeDied:
		h.lost = false
		p.end(h, n.at)
	case h.ended:
		if h.lost && h.d.release == nil && n.kind == noticeRenewal && n.r != nil {
			h.next = p.begin(who, n.r, n.until, n.doubt)
			h.next.token, h.next.maybe, h.closed = h.token, h.maybe, min(h.closed, n.at)
			p.k.anew[n.r] = h.d
		} else {
			h.renew(n)
		}
	case n.at <= h.until, n.r != nil && n.at <= h.belief.began.ret: // an extend may be answered before the acquire
		h.renew(n)
		h.until, h.doubt = max(h.until, n.until), max(h.doubt, n.doubt)
	case n.kind == noticeReentry || n.r == nil: // from another hold of the client: it does not resume a belief
		h.renew(n)
		if n.at <= h.doubt {
			h.doubt = max(h.doubt, n.doubt)
		}
	default: // too late: the belief had ended, or may have, and a new one starts
		h.renew(n)
		p.finish(h, min(h.doubt, n.at))
		d := p.k.detailOf(n.r)
		d.role, d.began = starts, n.r
		h.belief, h.until, h.doubt = d, n.until, n.doubt
	}
}

// end ends the belief of a hold for good.
func (p *holdPass) end(h *openHold, t int64) {
	if h.ended {
		return
	}
	h.until = min(h.until, t)
	p.finish(h, min(h.doubt, t))
	h.ended = true
}

// finish stores the end of the current belief.
func (p *holdPass) finish(h *openHold, doubt int64) {
	h.belief.end = h.until
	if doubt > max(h.until, h.belief.began.ret) {
		p.k.doubt(h.belief, doubt)
	}
}

// rare has what few details need.
type rare struct {
	asked int64 // acquires: when the granted attempt began
	known bool  // asked is
	doubt int64 // beliefs with an unknown end: the latest that it can have been
}

// asked returns when the granted attempt of an acquire began, if that is known.
func (k *keyLog) asked(r *record) (at int64, known bool) {
	if d := k.detailOf(r); d.rare != 0 {
		x := k.rares.At(d.rare)
		return x.asked, x.known
	}
	return 0, false
}

// doubt notes that a belief may have lasted until t.
func (k *keyLog) doubt(d *detail, t int64) {
	if d.rare == 0 {
		d.rare = k.rares.Add(rare{})
	}
	k.rares.At(d.rare).doubt = t
	k.doubts = true
}

// latestEnd returns the latest instant at which a belief can have ended.
func (k *keyLog) latestEnd(d *detail) int64 {
	if d.rare == 0 {
		return d.end
	}
	return max(d.end, k.rares.At(d.rare).doubt)
}
