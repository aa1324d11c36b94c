package checker

import "github.com/lockbench/lockbench/history"

// Possible, for how long the server can have kept a hold (VERDICTS §1): from the call of the acquire, or asked, to the latest instant at which an effect of it can
// have happened + lease + slack; ended by an effect of its release, or by an answer not_held or lost to an operation that belongs to it.
//
// Where the page leaves a choice: a notice (op lost) ends the belief and not the possible, for it may be the client's own conclusion.

// slack is by how much a server may keep a lease too long: drift, and the grain of its clock.
func slack(h history.Header) int64 { return h.Drift + clockGrain }

// clockGrain is in nanoseconds: servers count the ends of leases in milliseconds.
const clockGrain = 1_000_000

// from is the earliest instant at which the server can have given what r was granted.
func (k *keyLog) from(r *record) int64 { return max(r.call, k.asked(r)) }

// renew notes an effect on the server's mark.
func (h *openHold) renew(n notice) { h.effect = max(h.effect, n.at) }

// gone is the last instant at which the server can have kept a hold.
func (h *openHold) gone(p *holdPass) int64 {
	gone := plus(h.effect, p.keep)
	for range h.maybe {
		gone = plus(gone, p.keep)
	}
	return min(gone, h.cap)
}

// denial is an answer that a hold is gone though its lease was running, as far as its client had been told.
type denial struct {
	r *record
	h *detail
}

func (p *holdPass) deny(h *openHold, r *record) {
	ends := h.until < never || r != nil && r.op == history.Release // without an end, a client holds until it is told of a loss
	if r != nil && !h.ended && h.until > r.ret && ends {
		p.k.denials = append(p.k.denials, denial{r, h.d})
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

// crashHold is a time in which a client that crashed may have held the lock by a request that nobody recorded.
type crashHold struct{ from, died, to int64 }

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
