package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Witness is what shows a violation.
type Witness struct {
	Holds      []Hold              // by start; the last is the one that conflicts with those before it
	Operations []history.Operation // others that show it, by call: the refusal, the write, the release
	Leftover   string              // of hygiene: what was found left behind, in the finder's words
}

// All are the operations of a witness, those of its holds included, by call and each once.
func (w *Witness) All() []history.Operation {
	all := slices.Clone(w.Operations)
	for i := range w.Holds {
		all = append(all, w.Holds[i].Operations()...)
	}
	return inOrder(all)
}

// witness returns the holds that some records began or belong to, and some others as operations. A record that is in no hold is an operation.
func (d *keyInput) witness(of []*record, others ...*record) (w Witness) {
	var seen []uint32
	for _, r := range of {
		n := d.a.holdOf[r.line-1]
		switch {
		case n == 0:
			others = append(others, r)
		case !slices.Contains(seen, n):
			seen = append(seen, n)
			w.Holds = append(w.Holds, d.a.holds(d.k, d.recordsOfHold(n))...)
		}
	}
	slices.SortStableFunc(w.Holds, byStart)
	for _, r := range others {
		w.Operations = append(w.Operations, d.operation(r))
	}
	w.Operations = inOrder(w.Operations)
	return w
}

// maxOfHold bounds the operations of one hold that a violation carries.
const maxOfHold = 32

// recordsOfHold finds the records of a hold from the one that it began with on, up to its release or its client's next grant.
func (d *keyInput) recordsOfHold(n uint32) []*record {
	began := d.k.details.at(int(n) - 1).began
	span := max(2*(began.ret-began.call), 1_000_000) // most holds end soon, and a lease may span a million operations
	for {
		until := plus(began.ret, span)
		found, over := d.recordsUntil(n, began, until)
		if over || len(found) >= maxOfHold || until >= d.k.last() {
			return found[:min(len(found), maxOfHold)]
		}
		span = plus(span, 3*span)
	}
}

// recordsUntil finds the records of a hold up to an instant, and reports whether it was over by then.
func (d *keyInput) recordsUntil(n uint32, began *record, until int64) (found []*record, over bool) {
	d.k.records(began.call, until, func(r *record) {
		switch {
		case d.a.holdOf[r.line-1] == n:
			found = append(found, r)
			over = over || r.op == history.Release
		case r.client == began.client && r.granted() && r.call >= began.ret && d.a.header.Kind != history.Reentrant:
			over = true
		}
	})
	slices.SortFunc(found, func(x, y *record) int { return byCall(*x, *y) })
	return found, over
}
