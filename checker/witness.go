package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Witness is what shows a violation.
type Witness struct {
	Holds      []Hold              // by start; the last conflicts with those before it
	Operations []history.Operation // other operations that show it, by call: the refusal, the write, the release
}

// All returns the operations of a witness, including those of its holds, by call without duplicates.
func (w *Witness) All() []history.Operation {
	all := slices.Clone(w.Operations)
	for i := range w.Holds {
		all = append(all, w.Holds[i].Operations()...)
	}
	return inOrder(all)
}

// witness returns the holds that the given records began or belong to, and the others as operations. A record without a hold is an operation.
func (d *keyInput) witness(of []*record, others ...*record) (w Witness) {
	var seen []uint32
	for _, r := range of {
		n := d.a.holdOf[r.line-1]
		switch {
		case n == 0:
			others = append(others, r)
		case !slices.Contains(seen, n):
			seen = append(seen, n)
			w.Holds = append(w.Holds, d.a.holds(d.k, d.recordsOfHold(n, of))...)
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

// recordsOfHold returns the records of a hold from the one that began it up to its release or its client's next grant, and those of the given records
// that belong to it, such as critical sections after an inner hold.
func (d *keyInput) recordsOfHold(n uint32, of []*record) []*record {
	found := d.recordsFrom(n)
	for _, r := range of {
		if d.a.holdOf[r.line-1] == n && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(x, y *record) int { return byCall(*x, *y) })
	return found
}

// recordsFrom returns the first records of a hold, up to its release or its client's next grant, by call.
func (d *keyInput) recordsFrom(n uint32) []*record {
	began := d.k.details.At(n).began
	span := max(2*(began.ret-began.call), 1_000_000) // most holds end soon, although a lease may span a million operations
	for {
		until := plus(began.ret, span)
		found, over := d.recordsUntil(n, began, until)
		if over || len(found) >= maxOfHold || until >= d.k.last() {
			return found[:min(len(found), maxOfHold)]
		}
		span = plus(span, 3*span)
	}
}

// recordsUntil returns the records of a hold up to an instant, and reports whether it had ended by then.
func (d *keyInput) recordsUntil(n uint32, began *record, until int64) (found []*record, over bool) {
	for r := range d.k.overlapping(began.call, until) {
		switch {
		case d.a.holdOf[r.line-1] == n:
			found = append(found, r)
			over = over || r.op == history.Release
		case r.client == began.client && r.granted() && r.call >= began.ret && d.a.header.Kind != history.Reentrant:
			over = true
		}
	}
	slices.SortFunc(found, func(x, y *record) int { return byCall(*x, *y) })
	return found, over
}
