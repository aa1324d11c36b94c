package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Surroundings are the record around a violation, on its key: what its story and its picture show.
type Surroundings struct {
	Header history.Header
	Holds  []Hold // by start; those that meet the operations
	// by call: those of the witness, at most nearby before the violation and nearby after it
	Operations []history.Operation
	Faults     []history.Window // by start; those that meet the operations
}

// nearby is how many operations on either side of a violation are shown.
const nearby = 50

// surroundings collects the record around a violation; nil if the violation is not about a key of
// the record.
func (a *archive) surroundings(v *Violation, ev *evidence) *Surroundings {
	k := a.byName[v.Key]
	if k == nil {
		return nil
	}
	near := a.operationsAround(k, v)
	at, _ := slices.BinarySearchFunc(near, v.At, func(o op, at int64) int { return cmp.Compare(o.call, at) })
	s := &Surroundings{Header: a.header, Operations: v.Witness.All()}
	for i := max(0, at-nearby); i < min(len(near), at+nearby); i++ {
		s.Operations = append(s.Operations, a.operation(k, &near[i]))
	}
	s.Operations = inOrder(s.Operations)
	if len(s.Operations) == 0 {
		return s
	}
	first, last := s.Operations[0].Call, v.At
	for _, o := range s.Operations {
		last = max(last, o.Return)
	}
	s.Holds = slices.Clone(v.Witness.Holds)
	for _, h := range a.holds(k, near) {
		known := slices.ContainsFunc(s.Holds, func(o Hold) bool { return o.Acquire == h.Acquire })
		if !known && h.Start() <= last && h.lastSeen() >= first {
			s.Holds = append(s.Holds, h)
		}
	}
	slices.SortStableFunc(s.Holds, byStart)
	for _, w := range ev.all {
		if w.Start <= last && w.Last() >= first {
			s.Faults = append(s.Faults, w)
		}
	}
	return s
}

// maxContext bounds how many operations around one violation are read, so that an illegal history
// costs little more than a legal one: a lease of seconds may span a million operations.
const maxContext = 4096

// operationsAround returns the operations within some leases of a violation and those of its
// witness, by call; if these are too many, those closer to it.
func (a *archive) operationsAround(k *keyLog, v *Violation) []op {
	margin := max(4*a.header.Lease, 2_000_000_000)
	before, after := margin, plus(v.Lasted, margin)
	for _, o := range v.Witness.All() {
		before, after = max(before, v.At-o.Call+margin), max(after, o.Call-v.At+margin)
	}
	for ; ; before, after = before/4, after/4 {
		var found []op
		for o := range k.overlapping(v.At-before, plus(v.At, after)) {
			if found = append(found, o); len(found) > maxContext {
				break
			}
		}
		if len(found) <= maxContext || before+after == 0 {
			sortOps(found)
			return found
		}
	}
}

// lastSeen returns the end of the belief, or of the client's last operation in the hold.
func (h *Hold) lastSeen() int64 {
	last := h.End()
	for _, o := range h.Operations() {
		last = max(last, o.Return)
	}
	return last
}
