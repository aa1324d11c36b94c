package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Surroundings are the record around a violation, on its key: what its story and its picture show.
type Surroundings struct {
	Header     history.Header
	Holds      []Hold              // by start; those that meet the operations
	Operations []history.Operation // by call: those of the witness, at most nearby before the violation and nearby after it
	Faults     []history.Window    // by start; those that meet the operations
}

// nearby is how many operations on either side of a violation are shown.
const nearby = 50

// surroundings collects the record around a violation; nil if the violation is not about a key of the record.
func (a *archive) surroundings(v *Violation, ev *evidence) *Surroundings {
	k := a.byName[v.Key]
	if k == nil {
		return nil
	}
	records := a.recordsAround(k, v)
	at, _ := slices.BinarySearchFunc(records, v.At, func(r *record, at int64) int { return cmp.Compare(r.call, at) })
	s := &Surroundings{Header: a.header, Operations: v.Witness.All()}
	for _, r := range records[max(0, at-nearby):min(len(records), at+nearby)] {
		s.Operations = append(s.Operations, a.operation(k, r))
	}
	s.Operations = inOrder(s.Operations)
	if len(s.Operations) == 0 {
		return s
	}
	first, last := s.Operations[0].Call, v.At
	for _, op := range s.Operations {
		last = max(last, op.Return)
	}
	s.Holds = slices.Clone(v.Witness.Holds)
	for _, h := range a.holds(k, records) {
		known := slices.ContainsFunc(s.Holds, func(o Hold) bool { return o.Acquire == h.Acquire })
		if !known && h.Start() <= last && h.lastSeen() >= first {
			s.Holds = append(s.Holds, h)
		}
	}
	slices.SortStableFunc(s.Holds, byStart)
	for _, w := range ev.faults {
		if w.Start <= last && w.Last() >= first {
			s.Faults = append(s.Faults, w)
		}
	}
	return s
}

// maxContext bounds how many operations around one violation are read, so that an illegal history costs little more than a legal one: a lease of
// seconds may span a million operations.
const maxContext = 4096

// recordsAround returns the records within some leases of a violation and those of its witness, by call; if these are too many, those closer to it.
func (a *archive) recordsAround(k *keyLog, v *Violation) []*record {
	margin := max(4*a.header.Lease, 2_000_000_000)
	before, after := margin, plus(v.Lasted, margin)
	for _, op := range v.Witness.All() {
		before, after = max(before, v.At-op.Call+margin), max(after, op.Call-v.At+margin)
	}
	for ; ; before, after = before/4, after/4 {
		var found []*record
		for r := range k.overlapping(v.At-before, plus(v.At, after)) {
			if found = append(found, r); len(found) > maxContext {
				break
			}
		}
		if len(found) <= maxContext || before+after == 0 {
			slices.SortFunc(found, func(x, y *record) int { return byCall(*x, *y) })
			return found
		}
	}
}

// lastSeen returns the end of the belief, or of the client's last operation in the hold.
func (h *Hold) lastSeen() int64 {
	last := h.End()
	for _, op := range h.Operations() {
		last = max(last, op.Return)
	}
	return last
}
