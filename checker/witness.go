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
		w.Operations = append(w.Operations, d.a.operation(d.k, r))
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
func (d *keyInput) recordsFrom(n uint32) (found []*record) {
	began := d.k.details.At(n).began
	for r := range d.k.since(began.call) {
		its := d.a.holdOf[r.line-1] == n
		if its {
			found = append(found, r)
		}
		next := r.client == began.client && r.granted() && r.call >= began.ret && d.a.header.Kind != history.Reentrant
		if its && r.op == history.Release || next || len(found) == maxOfHold {
			break
		}
	}
	return found
}
