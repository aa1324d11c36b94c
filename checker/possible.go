package checker

import "github.com/lockbench/lockbench/history"

// Possible: for how long the server can have kept a hold (VERDICTS §1). It lasts from the call of the acquire, or asked, to the latest instant at
// which an effect of it can have happened + lease + slack; an effect of its release ends it, or a reply not_held or lost to an operation that belongs
// to it.
//
// Where VERDICTS leaves a choice: a notice (op lost) ends the belief and not the possible, because it may be the client's own conclusion.

// slack returns by how much a server may keep a lease too long: drift, and the resolution of its clock.
func slack(h history.Header) int64 { return h.Drift + clockGrain }

// clockGrain is in nanoseconds: servers count the ends of leases in milliseconds.
const clockGrain = 1_000_000

// from returns the earliest instant at which the server can have granted r.
func (k *keyLog) from(r *record) int64 { return max(r.call, k.asked(r)) }

// renew records an effect that renews the server's key.
func (h *openHold) renew(n notice) { h.effect = max(h.effect, n.at) }

// gone returns the last instant at which the server can have kept a hold.
func (h *openHold) gone(p *holdPass) int64 {
	gone := plus(h.effect, p.keep)
	for range h.maybe {
		gone = plus(gone, p.keep)
	}
	return min(gone, h.cap)
}

// denial is a reply that a hold is gone although, as far as its client knew, its lease was running.
type denial struct {
	r *record
	h *detail
}

func (p *holdPass) deny(h *openHold, r *record) {
	ends := h.until < never || r != nil && r.op == history.Release // without an end, a client holds until it learns of a loss
	if r != nil && !h.ended && h.until > r.ret && ends {
		p.k.denials = append(p.k.denials, denial{r, h.d})
	}
}

// claim is an accepted release or extend whose hold certainly no longer existed; h is nil if there was none.
type claim struct {
	r *record
	h *detail
}

// claim records r if the lease of its hold had certainly ended by its call, whatever else was under way.
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

// crashHold is a time in which a client that crashed may have held the lock by an unrecorded request.
type crashHold struct{ from, died, to int64 }

// crashes returns the instants of confirmed crashes by client number; clients without operations have none.
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
