package checker

import (
	"slices"

	"github.com/lockbench/lockbench/verdicts"
)

// fairness: a lock that grants in order of arrival (Header.FIFO) lets no client overtake another.
//
// A client is in the queue from the reply, if it is no error, to the first request of its acquire. It is a violation if a client that called its
// acquire after that instant is granted before it. Of two holds, the one that returned first was granted first, unless a reply took longer than a
// lease; then the grant is worth nothing.
//
// A client keeps its place by asking again. A client that sent nothing for half a lease may have lost its place, and one that met a fault may have
// lost any state: neither is judged.
//
// An opportunity is a grant that returns while an acquire called earlier is waiting.
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
	if len(f.waiting) == 0 || f.waiting[0].call >= r.call {
		return
	}
	f.opportunity(f.waiting[0].call, r.ret)
	for _, w := range f.waiting {
		if f.overtaken(w, r) && f.d.obeys("overtaken") {
			f.report(w, r)
			return
		}
	}
}

// overtaken reports whether w was certainly in the queue when r, which was granted first, was called.
func (f *fairness) overtaken(w, r *record) bool {
	return w.call < r.call && !f.d.ev.excused(f.d.clientName(w), w.call, r.ret) && f.queued(w, r.call, r.ret)
}

// queued reports whether w had a reply to its first request by an instant, and asked again often enough until another.
func (f *fairness) queued(w *record, by, until int64) bool {
	last := int64(-1)
	for _, c := range f.d.ev.commandsOf(f.d.clientName(w), w.call, until) {
		if !names(c, f.d.k.name) || c.Failed() {
			continue
		}
		if last < 0 && (c.Replied == 0 || c.Replied > by) {
			return false
		}
		if last >= 0 && f.lapsed(last, c.Sent) {
			return false
		}
		last = c.Sent
	}
	return last >= 0 && !f.lapsed(last, until)
}

// lapsed reports whether a place may have been lost between two instants.
func (f *fairness) lapsed(from, to int64) bool {
	lease := f.d.a.header.Lease
	return lease > 0 && to-from > lease/2
}

func (f *fairness) report(w, r *record) {
	v := Violation{At: r.ret, Lasted: w.ret - r.ret, Clients: []string{f.d.clientName(w), f.d.clientName(r)}}
	f.found(v, func() Witness { return f.d.witness(nil, w, r) })
}
