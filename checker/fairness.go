package checker

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// fairness: a lock that grants in order of arrival (header fifo) lets no client overtake another. A
// client is in the queue once its first request was answered, and keeps its place while it asks
// again within half a lease. It is broken if another client sent its first request after that and
// is granted first: its grant returned first where the holds exclude each other, else before the
// waiter's granted try was asked. It is not judged where a fault met the waiter. An opportunity is
// a grant while others wait whose place before or behind it is known from their commands.
type fairness struct {
	tally
	waiting []op // grants that were called and have not returned, by call
}

func newFairness(d *keyInput) *fairness {
	why := "no order of grants is promised"
	if d.a.header.FIFO {
		why = "who asked first shows only in commands, and none were recorded"
	}
	return &fairness{tally: d.tallyOf(verdicts.Fairness, d.a.header.FIFO && len(d.ev.commands) > 0, why)}
}

func (f *fairness) called(o *op) {
	if o.granted() {
		f.waiting = append(f.waiting, *o)
	}
}

func (f *fairness) returned(o *op) {
	if !o.granted() {
		return
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w op) bool { return w.line == o.line })
	others, open := 0, ""
	for i := range f.waiting {
		w := &f.waiting[i]
		if w.client == o.client || !f.cameFirst(o, w) && !f.cameFirst(w, o) {
			continue
		}
		others++
		switch why := f.unknown(w, o); {
		case f.cameFirst(o, w):
		case why == "" && f.d.uses("overtaken"):
			f.found(Violation{At: o.ret, Lasted: w.ret - o.ret, Clients: f.d.names(*w, *o)}, nil, *w, *o)
			return
		case open == "":
			open = why
		}
	}
	switch {
	case open != "":
		f.unjudged(open)
	case others > 0:
		f.opportunity(o.call, o.ret)
	}
}

// unknown says why it is not known whether o, which returned first, overtook w, which came first;
// "" if it did.
func (f *fairness) unknown(w, o *op) string {
	h := f.d.a.header
	granted := f.d.k.asked(w)
	if Permits(h) == 1 && Conflict(h.Kind, false, w.mode, o.mode) {
		granted = w.ret
	}
	lapsed, last := false, int64(0)
	for i, c := range f.requests(w, o.ret) {
		lapsed = lapsed || i > 0 && c.Sent-last > h.Lease/2
		last = c.Sent
	}
	switch {
	case f.d.ev.excused(f.d.a.client(w), w.call, o.ret):
		return metAFault
	case h.Lease > 0 && (lapsed || o.ret-last > h.Lease/2): // it did not ask again in time
		return "a place in the queue may have been lost"
	case granted <= o.ret+h.ClockError:
		return "who was granted first is not known"
	}
	return ""
}

// requests returns the commands by which a client asked for the lock until an instant, in an
// acquire.
func (f *fairness) requests(o *op, until int64) []history.Command {
	return slices.DeleteFunc(slices.Clone(f.d.ev.commandsOf(f.d.a.client(o), o.call, until)), func(c history.Command) bool {
		named := slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, f.d.k.name) })
		return !named || c.Failed()
	})
}

// cameFirst reports whether a client was certainly in the queue before another sent its first
// request.
func (f *fairness) cameFirst(a, b *op) bool {
	first, second := f.requests(a, a.ret), f.requests(b, b.ret)
	switch slack := f.d.a.header.ClockError; {
	case len(first) == 0 || first[0].Replied == 0:
		return false
	case len(second) == 0:
		return first[0].Replied < b.call-slack
	case slack == 0 || first[0].Turn != 0 && second[0].Turn != 0:
		return second[0].Follows(&first[0])
	default:
		return first[0].Replied < second[0].Sent-slack
	}
}
