package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// nearby is how many operations on either side of a violation are shown.
const nearby = 50

// show fills in what shows a violation, and unless it is to be bare, what is around it.
func (a *archive) show(v *Violation, ev *evidence, bare bool) {
	k := a.byName[v.Key]
	if v.grantBy != 0 {
		v.of = k.grantBefore(v.grantBy)
	}
	near := a.around(k, v)
	its := map[uint32]bool{}
	for i := range v.of {
		if its[v.of[i].hold] = true; v.of[i].hold == 0 { // it shows it by itself
			v.others = append(v.others, v.of[i])
		}
	}
	w := &v.Witness
	w.Holds = a.holds(k, slices.DeleteFunc(slices.Clone(near), func(o op) bool { return !its[o.hold] }))
	for i := range v.others {
		w.Operations = append(w.Operations, a.operation(k, &v.others[i]))
	}
	w.Operations = inOrder(w.Operations)
	if !bare {
		v.Around = a.surroundings(k, v, near, ev.all)
	}
	v.of, v.others = nil, nil
}

// surroundings collects the record around a violation.
func (a *archive) surroundings(k *keyLog, v *Violation, near []op, faults []history.Window) *Surroundings {
	at, _ := slices.BinarySearchFunc(near, v.At, func(o op, at int64) int { return cmp.Compare(o.call, at) })
	s := &Surroundings{Header: a.header, Operations: v.Witness.All()}
	for i := max(0, at-nearby); i < min(len(near), at+nearby); i++ {
		s.Operations = append(s.Operations, a.operation(k, &near[i]))
	}
	s.Operations = inOrder(s.Operations)
	first, last := s.Operations[0].Call, v.At
	for _, o := range s.Operations {
		last = max(last, o.Return)
	}
	s.Holds = slices.DeleteFunc(a.holds(k, near), func(h Hold) bool {
		seen := func(o history.Operation) bool { return o.Return >= first }
		return h.Start() > last || h.End() < first && !slices.ContainsFunc(h.Operations(), seen)
	})
	for _, w := range faults {
		if w.Start <= last && w.Last() >= first {
			s.Faults = append(s.Faults, w)
		}
	}
	return s
}

// maxContext is how many operations around a violation are read at most: a lease of seconds may
// span a million, and an illegal history should cost little more than a legal one.
const maxContext = 4096

// around returns the operations that show a violation and those within four leases of any of these,
// by call; if they are too many, only those nearer to the violation.
func (a *archive) around(k *keyLog, v *Violation) []op {
	shown := slices.Concat(v.of, v.others)
	for i := range v.of {
		if n := v.of[i].hold; n != 0 {
			shown = append(shown, k.began(n))
		}
	}
	margin := max(4*a.header.Lease, 2_000_000_000)
	before, after := margin, plus(v.Lasted, margin)
	for _, o := range shown {
		before, after = max(before, v.At-o.call+margin), max(after, o.call-v.At+margin)
	}
	for ; ; before, after = before/4, after/4 {
		found := slices.Clone(shown)
		for o := range k.overlapping(v.At-before, plus(v.At, after)) {
			if found = append(found, o); len(found) > maxContext {
				break
			}
		}
		if len(found) <= maxContext || before+after == 0 {
			slices.SortFunc(found, func(x, y op) int {
				return cmp.Or(cmp.Compare(x.call, y.call), cmp.Compare(x.ret, y.ret), cmp.Compare(rank[x.kind], rank[y.kind]), cmp.Compare(x.line, y.line))
			})
			return slices.CompactFunc(found, func(x, y op) bool { return x.line == y.line })
		}
	}
}

// grantBefore returns the last grant to return by an instant; nothing if there is none.
func (k *keyLog) grantBefore(t int64) []op {
	first := k.first()
	for span := int64(1_000_000); ; span = plus(span, 3*span) {
		var last []op
		for g := range k.overlapping(t-span, t) {
			if g.granted() && g.ret <= t && (last == nil || cmp.Or(cmp.Compare(last[0].ret, g.ret), cmp.Compare(last[0].call, g.call), cmp.Compare(last[0].line, g.line)) < 0) {
				last = []op{g}
			}
		}
		if last != nil || t-span <= first {
			return last
		}
	}
}
