package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// fairness: a lock that grants in order of arrival (Header.FIFO) lets no client overtake another.
//
// A client is in the queue from the reply, if it is no error, to the first request of its acquire. It is a violation if a client that sent its first
// request after that instant is granted before it. Of two holds that exclude each other, the one that returned first was granted first, unless a reply
// took longer than a lease; then the grant is worth nothing. Of others, one was granted first if it returned before the try that was granted to the other
// was asked. Instants of two clients that are no more than the clock error apart have no order.
//
// A client keeps its place by asking again. A client that sent nothing for half a lease may have lost its place, and one that met a fault may have
// lost any state: neither is judged.
//
// An opportunity is a grant that returns while others are waiting of which it is known whether they came before.
//
// Limits: only clients whose commands were recorded, and that were granted in the end, are known to wait.
type fairness struct {
	tally
	waiting []*record // grants that were called and have not returned, by call
}

func newFairness(d *keyInput) *fairness {
	why := "no order of grants is promised"
	if d.a.header.FIFO {
		why = "who asked first shows only in commands, and none were recorded"
	}
	return &fairness{tally: d.tallyOf(verdicts.Fairness, d.a.header.FIFO && len(d.ev.commands) > 0, why)}
}

func (f *fairness) called(r *record) {
	if f.applies && r.granted() {
		f.waiting = append(f.waiting, r)
	}
}

func (f *fairness) returned(r *record) {
	if !f.applies || !r.granted() {
		return
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w *record) bool { return w == r })
	others, open := 0, ""
	for _, w := range f.waiting {
		if w.client == r.client || !f.cameFirst(r, w) && !f.cameFirst(w, r) {
			continue
		}
		others++
		switch overtaken, why := f.overtaken(w, r); {
		case overtaken && f.d.obeys("overtaken"):
			f.opportunity(w.call, r.ret)
			f.report(w, r)
			return
		case open == "":
			open = why
		}
	}
	switch {
	case open != "":
		f.unjudged(1, open)
	case others > 0:
		f.opportunity(r.call, r.ret)
	}
}

// The reasons why the order of two clients isn't judged.
const (
	grantsUnknown = "who was granted first is not known"
	placeLost     = "a place in the queue may have been lost"
)

// overtaken reports whether w, which came first if r did not, was certainly in the queue when r, which was granted first, came. Otherwise why says what is
// not known; it is empty if r came first.
func (f *fairness) overtaken(w, r *record) (overtaken bool, why string) {
	switch {
	case f.cameFirst(r, w):
		return false, ""
	case f.d.ev.excused(f.d.clientName(w), w.call, r.ret):
		return false, metAFault
	case f.lapses(w, r.ret):
		return false, placeLost
	case !f.grantedFirst(r, w):
		return false, grantsUnknown
	}
	return true, ""
}

// grantedFirst reports whether r, which returned while w was waiting, was certainly granted first.
func (f *fairness) grantedFirst(r, w *record) bool {
	h := f.d.a.header
	if Permits(h) == 1 && Conflict(h.Kind, false, w.mode, r.mode) {
		return w.ret > r.ret+h.ClockError
	}
	return f.d.k.from(w) > r.ret+h.ClockError
}

// requests returns the commands by which a client asked for the lock until an instant, in an acquire.
func (f *fairness) requests(r *record, until int64) []history.Command {
	return slices.DeleteFunc(slices.Clone(f.d.ev.commandsOf(f.d.clientName(r), r.call, until)), func(c history.Command) bool {
		return !names(c, f.d.k.name) || c.Failed()
	})
}

// cameFirst reports whether a client was certainly in the queue before another sent its first request.
func (f *fairness) cameFirst(a, b *record) bool {
	first, second := f.requests(a, a.ret), f.requests(b, b.ret)
	switch slack := f.d.a.header.ClockError; {
	case len(first) == 0 || first[0].Replied == 0:
		return false
	case len(second) == 0:
		return first[0].Replied < b.call-slack
	case slack == 0 || first[0].Turn != 0 && second[0].Turn != 0:
		return second[0].Follows(&first[0], true)
	default:
		return first[0].Replied < second[0].Sent-slack
	}
}

// lapses reports whether a waiting client may have lost its place by an instant, because it did not ask again in time.
func (f *fairness) lapses(w *record, until int64) bool {
	lease, last := f.d.a.header.Lease, int64(0)
	for i, c := range f.requests(w, until) {
		if i > 0 && lease > 0 && c.Sent-last > lease/2 {
			return true
		}
		last = c.Sent
	}
	return lease > 0 && until-last > lease/2
}

func (f *fairness) report(w, r *record) {
	v := Violation{At: r.ret, Lasted: w.ret - r.ret, Clients: []string{f.d.clientName(w), f.d.clientName(r)}}
	f.found(v, func() Witness { return f.d.witness(nil, w, r) })
}
