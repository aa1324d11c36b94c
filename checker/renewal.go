package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// renewal: a lease that is extended in time continues, and a hold that was released is not renewed.
//
// It is broken if an extend is refused, or a loss notified, while the lease of the hold was running as far as its client knew; and if an extend
// succeeds that belongs to no hold: called after the release of its hold had returned, or after an acquire that ended without a grant. An extend that
// renews another client's hold is a matter of release-safety.
//
// An opportunity is an extend with a reply, or a notice of a loss. It is not judged if, since the hold began, a confirmed fault hit the client, or a
// node that its commands went to.
//
// Limits: an extend by the lock itself is judged only if it was recorded. A self-renewing lock that loses a hold without notice shows as a violation
// of mutual exclusion.
type renewal struct {
	tally
}

func newRenewal(d *keyInput) *renewal {
	n := d.k.count(history.Extend, history.OK, history.LostHold, history.NotHeld, history.Unknown, history.Fail) +
		d.k.count(history.Lost, history.None, history.OK)
	return &renewal{tally: d.tallyOf(verdicts.Renewal, n > 0, "nothing was extended or reported lost")}
}

func (w *renewal) returned(r *record) {
	if r.op != history.Extend && r.op != history.Lost {
		return
	}
	denied := w.d.k.denied[r]
	_, claimed := w.d.k.claims[r]
	switch {
	case r.op == history.Extend && (r.outcome == history.Unknown || r.outcome == history.Fail):
		w.unjudged(1, "not answered")
		return
	case denied != nil && w.d.ev.excused(w.d.clientName(r), denied.began.call, r.ret):
		w.unjudged(1, metAFault)
		return
	}
	w.opportunity(r.call, r.ret)
	switch {
	case denied != nil && w.d.obeys("healthy-lost"):
		v := Violation{At: r.ret, Clients: []string{w.d.clientName(r)}}
		w.found(v, func() Witness { return w.d.witness([]*record{denied.began}, r) })
	case r.op == history.Extend && claimed && w.d.holdOf(r) == nil && w.d.obeys("outlived-release"):
		w.foundAt(r)
	}
}
