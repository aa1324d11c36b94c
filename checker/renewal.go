package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// renewal: a lease that is extended in time goes on. It is broken by an extend that was refused, or
// failed although requests of it were sent, or a loss told, while the hold was certain until the
// reply. An opportunity is an extend that was answered, not judged if a fault met the hold, or a
// loss told that no fault excuses. A clock that a fault set meets holds until it is set right. An
// extend of what is gone is a matter of release-safety.
type renewal struct {
	tally
}

func newRenewal(d *keyInput) *renewal {
	n := d.k.count(history.Extend, history.OK, history.LostHold, history.NotHeld, history.Unknown, history.Fail) +
		d.k.count(history.Lost, history.None, history.OK)
	return &renewal{tally: d.tallyOf(verdicts.Renewal, n > 0, "nothing was extended or reported lost")}
}

func (w *renewal) returned(o *op) {
	if o.kind != history.Extend && o.kind != history.Lost {
		return
	}
	failed := o.outcome == history.Fail && len(w.d.ev.commandsOf(w.d.a.client(o), o.call, o.ret)) > 0
	denied := o.kind == history.Lost || o.saysGone() || failed
	switch {
	case o.kind == history.Extend && o.outcome != history.OK && !denied:
		w.unjudged(notAnswered)
	case denied && (w.d.excusedHold(o) || w.d.ev.clockOff(w.d.a.client(o), o.ret)):
		if o.kind == history.Extend {
			w.unjudged(metAFault)
		}
	case denied && w.d.wasCertain(o) && w.d.uses("healthy-lost"):
		w.denied(o)
	default:
		w.opportunity(o.call, o.ret)
	}
}

// wasCertain reports whether an operation's hold was certain until it returned.
func (d *keyInput) wasCertain(o *op) bool {
	if o.hold == 0 {
		return false
	}
	h := d.k.holds.at(o.hold)
	if h.release != 0 && h.release != o.place && d.k.at(h.release).call < o.ret {
		return false
	}
	ends := h.certain < never || d.a.header.Lease == 0
	return d.k.at(h.began).call < o.call && h.certain >= o.ret && ends
}

// excusedHold reports whether a fault met the hold of an operation.
func (d *keyInput) excusedHold(o *op) bool {
	return d.ev.excused(d.a.client(o), d.since(o), o.ret)
}

// since returns when the hold of an operation was asked for; the call of one without.
func (d *keyInput) since(o *op) int64 {
	if o.hold == 0 {
		return o.call
	}
	return d.k.at(d.k.holds.at(o.hold).began).call
}

// denied reports a reply that denies a hold.
func (t *tally) denied(o *op) {
	t.found(Violation{At: o.ret, Clients: t.d.names(*o)}, []op{t.d.k.began(o.hold)}, *o)
}
