package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Possible: for how long the server can have kept a hold (see docs/verdicts.md). It lasts from the call of the acquire, or asked, to the latest
// instant at which an effect of it can have happened + lease + slack; an effect of its release ends it, or a reply not_held or lost to an operation
// that belongs to it.
//
// Where docs/verdicts.md leaves a choice: a notice (op lost) ends the belief and not the possible, because it may be the client's own conclusion. The
// answer to an inner operation of a re-entrant client says nothing of its outer hold. An acquire of unknown outcome may renew any later hold of such
// a client. What was asked when the server can't have kept a hold any more renews nothing of it, except an extend of it that was accepted all the
// same.

// slack returns by how much a server may keep a lease too long: drift, and the resolution of its clock.
func slack(h history.Header) int64 { return h.Drift + clockGrain }

// keep returns for how long after an effect a server may keep a hold; never if leases don't end.
func keep(h history.Header) int64 {
	if h.Lease == 0 {
		return never
	}
	return h.Lease + slack(h)
}

// clockGrain is in nanoseconds: servers count the ends of leases in milliseconds.
const clockGrain = 1_000_000

// from returns the earliest instant at which an operation can have taken effect.
func (k *keyLog) from(r *record) int64 {
	if r.granted() {
		if asked, known := k.asked(r); known {
			return max(r.call, asked)
		}
	}
	return r.call
}

// renew records an effect that renews the server's key. An extend that was accepted after a reply that the hold is gone may have made it again.
func (h *openHold) renew(n notice) {
	if !n.renews() {
		return
	}
	h.effect = max(h.effect, n.at)
	switch {
	case n.again:
		h.caps = nil
	case n.r != nil && n.r.op == history.Extend && len(h.caps) > 0:
		h.caps = slices.DeleteFunc(slices.Clone(h.caps), func(at int64) bool { return at <= n.r.call })
	}
}

// limit records that a hold had ended by the return of an operation, unless an extend that was accepted although the hold was gone may have made it again
// after that operation.
func (h *openHold) limit(r *record) {
	if h.again < r.call {
		h.caps = append(slices.Clip(h.caps), r.ret)
	}
}

// goneBy returns the first instant by which a hold had ended, whatever its lease; never if there is none.
func (h *openHold) goneBy() int64 {
	if len(h.caps) == 0 {
		return never
	}
	return slices.Min(h.caps)
}

// renewed returns a hold with what is known to have renewed it, though its client has not learnt of it yet.
func (h *openHold) renewed(counts func(notice) bool) openHold {
	last := *h
	for _, n := range h.notices {
		if counts(n) {
			last.renew(n)
		}
	}
	return last
}

// keptUntil returns the last instant at which the server can have kept a hold by what was called before an instant, whatever the outcome of what is
// under way.
func (p *holdPass) keptUntil(h *openHold, before int64) int64 {
	last := h.renewed(func(notice) bool { return true })
	return last.gone(p, before)
}

// leaseUntil returns the same for the lease alone, as leaseEnd does.
func (p *holdPass) leaseUntil(h *openHold, before int64) int64 {
	last := h.renewed(func(notice) bool { return true })
	return last.leaseEnd(p, before)
}

// kept reports whether the server can have kept a hold until an operation was called.
func (p *holdPass) kept(h *openHold, r *record) bool { return p.keptUntil(h, r.call) >= r.call }

// perhaps counts an operation of unknown outcome that may renew a hold.
func (p *holdPass) perhaps(h *openHold, r *record) {
	if p.kept(h, r) {
		h.maybe++
	}
}

// gone returns the last instant at which the server can have kept a hold, as far as requests called before an instant show.
func (h *openHold) gone(p *holdPass, before int64) int64 {
	return min(h.leaseEnd(p, before), h.goneBy())
}

// leaseEnd returns the same for the lease alone, as if the hold had not been released or said to be gone.
func (h *openHold) leaseEnd(p *holdPass, before int64) int64 {
	effect, maybe := h.effect, h.maybe
	for _, c := range p.behind(h, before) {
		if at := max(c.Replied, c.Ran); at != 0 {
			effect = max(effect, at)
		} else {
			maybe++
		}
	}
	end := plus(effect, p.keep)
	for range maybe {
		end = plus(end, p.keep)
	}
	return end
}

// behind returns the commands by which the lock may have renewed a hold without telling: those that may set the end of a key of the hold, and that
// no operation accounts for. While a re-entrant client enters again or leaves, a command may be either's.
func (p *holdPass) behind(h *openHold, before int64) (out []history.Command) {
	if p.keep == never {
		return nil
	}
	client := p.a.clients.Text(h.r.client)
	var keys []string // of the hold
	for _, c := range p.ev.commandsOf(client, h.r.ret, before) {
		if c.Op != 0 && p.a.header.Kind != history.Reentrant || !c.MayRenew() {
			continue
		}
		if keys == nil {
			keys = p.ev.keysOf(client, h.r)
		}
		if share(keys, c.Keys()) {
			out = append(out, c)
		}
	}
	return out
}

// keysOf returns the keys that an operation's commands name.
func (e *evidence) keysOf(client string, r *record) []string {
	keys := []string{}
	for _, c := range e.commandsOf(client, r.call, r.ret) {
		keys = append(keys, c.Keys()...)
	}
	return keys
}

// deny records a reply that a hold is gone if, as far as its client knew, its lease was running, and it can't mean another whose lease was over. A reply
// without that hold's token, at the instant of an acquire that took no time, may have come before it, and so may any reply at the instant of an extend that
// began it: then it is one to any other hold that it may mean.
func (p *holdPass) deny(who *clientHolds, h *openHold, r *record) {
	its := h
	if !p.running(h, r) {
		return
	}
	if token := p.k.tokenOf(r); h.r.call >= r.ret && (h.r.op == history.Extend && r.op != history.Lost || token == 0 || token != h.token) {
		running := slices.IndexFunc(who.open, func(o *openHold) bool {
			return o.closed > r.call && o.r.call < r.ret && mayMean(r, token, o.r, o.token) && o.believedAt(r.ret) && p.running(o, r)
		})
		if running < 0 {
			return
		}
		h = who.open[running]
	}
	if !p.mayMeanAnother(who, h, r, func(o *openHold) bool { return o.next == nil && !o.believedAt(r.ret) }) {
		p.k.denied[r], its.denied = h.d, r
	}
}

// running reports whether the lease of a hold was running at a reply that it is gone, as far as its client knew. Without an end, a client holds until it
// learns that its lease has ended.
func (p *holdPass) running(h *openHold, r *record) bool {
	ends := h.until < never || r.op == history.Release || p.keep == never
	return !h.ended && h.until > r.ret && ends
}

// undeny takes back that a hold was denied if a release that may have ended it was called at the instant of that reply, and so perhaps before it.
func (p *holdPass) undeny(h *openHold, release *record) {
	if h.denied != nil && h.denied.ret == release.call {
		delete(p.k.denied, h.denied)
	}
}

// believedAt reports whether a client believed in a hold at an instant, of which it may have learnt more since.
func (h *openHold) believedAt(t int64) bool {
	return h.belief.began.ret <= t && h.until > t
}

// mayMeanAnother reports whether an operation may mean another open hold of its client than h, of a sort: not if it has h's token. A re-entrant client has
// one count for all.
func (p *holdPass) mayMeanAnother(who *clientHolds, h *openHold, r *record, of func(*openHold) bool) bool {
	token := p.k.tokenOf(r)
	its := token != 0 && token == h.token
	return !its && p.a.header.Kind != history.Reentrant && slices.ContainsFunc(who.open, func(o *openHold) bool {
		open := o.closed > r.call && o.r.ret <= r.call
		return o != h && open && mayMean(r, token, o.r, o.token) && of(o)
	})
}

// claim records an accepted operation if its hold was certainly gone by its call, whatever else was under way, and it can mean no other: without a token
// it may mean any that is open, but that a re-entrant client has one count.
func (p *holdPass) claim(who *clientHolds, h *openHold, r *record) {
	if p.mayMeanAnother(who, h, r, func(o *openHold) bool {
		return p.leaseUntil(o, r.call) >= r.call // a reply that it is gone may have meant another
	}) {
		return
	}
	last := h.renewed(func(n notice) bool { return !n.again })
	switch end := last.leaseEnd(p, r.call); {
	case end < r.call:
		p.k.claims[r] = end
	case h.goneBy() < r.call && !h.joins(r): // an extend still under way, which may have made it again, would be to blame itself
		p.k.claims[r] = never
	}
}

// joins reports whether an extend of a hold that is lost belongs to the one that another extend, which returns first, begins in its place.
func (h *openHold) joins(r *record) bool {
	its := notice{at: r.ret, kind: noticeRenewal, atOnce: r.call == r.ret}
	return h.lost && h.d.release == nil && slices.ContainsFunc(h.notices, func(n notice) bool {
		return n.kind == noticeRenewal && n.r != nil && byTurn(n, its) <= 0
	})
}

// crashHold is a time in which a client that crashed may have held the lock by an unrecorded request.
type crashHold struct{ from, died, to int64 }

// crashes returns the instants of a client's confirmed crashes, ascending.
func (e *evidence) crashes(client string) (at []int64) {
	for _, w := range e.byClient[client] {
		if w.Fault == faultCrashClient {
			at = append(at, w.Start)
		}
	}
	return at
}
