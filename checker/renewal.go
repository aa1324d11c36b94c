package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// renewal: a lease that is extended in time goes on, and nobody renews what has been given back.
//
// It is broken when an extend is refused, or a loss told, while the lease of the hold was running by what its client had been told; and when an
// extend is accepted that belongs to no hold: called after the release of its hold had returned, or after an acquire that ended without a grant.
// That an extend renews what another holds is a matter of release-safety.
//
// An opportunity is an extend that was answered, and a notice of a loss. What met a confirmed fault of the client, or of a node that its commands went to,
// since the hold began is not judged.
//
// Limits: an extend that the lock does by itself is judged only if it was recorded. A self-renewing lock that loses a hold without saying
// so shows as a violation of mutual exclusion.
type renewal struct {
	tally
	d *keyInput
}

func newRenewal(d *keyInput) *renewal {
	n := d.k.count(history.Extend, history.OK, history.LostHold, history.NotHeld, history.Unknown, history.Fail) +
		d.k.count(history.Lost, history.None, history.OK)
	w := &renewal{tally: tally{property: verdicts.Renewal, applies: n > 0}, d: d}
	if !w.applies {
		w.note = "nothing was extended or reported lost"
	}
	return w
}

func (w *renewal) called(*record) {}

func (w *renewal) returned(r *record) {
	switch {
	case r.op == history.Extend && (r.outcome == history.Unknown || r.outcome == history.Fail):
		w.unjudged(true, "not answered")
	case r.op == history.Extend || r.op == history.Lost:
		w.opportunity(w.d, r.call, r.ret)
	}
}

func (w *renewal) done() {
	for _, x := range w.d.k.denials {
		if x.r.op == history.Release {
			continue
		}
		if w.d.ev.excused(w.d.clientName(x.r), x.h.began.call, x.r.ret) {
			w.opportunities--
			w.unjudged(true, metAFault)
			continue
		}
		w.report("healthy-lost", x.r, x.h.began)
	}
	for _, x := range w.d.k.claims {
		if x.h == nil && x.r.op == history.Extend {
			w.report("outlived-release", x.r, nil)
		}
	}
}

func (w *renewal) report(rule string, r, began *record) {
	if !w.d.rules.on(rule) {
		return
	}
	v := Violation{At: r.ret, Clients: []string{w.d.clientName(r)}}
	w.found(w.d, v, func() Witness {
		of := []*record{began}
		if began == nil {
			of = w.d.grantBefore(r, r.call)
		}
		return w.d.witness(of, r)
	})
}
