package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Witness is what shows a violation.
type Witness struct {
	Holds      []Hold              // by start; the last conflicts with those before it
	Operations []history.Operation // other operations that show it, by call: the refusal, the write, the release
}

// All returns the operations of a witness, including those of its holds, by call without
// duplicates.
func (w *Witness) All() []history.Operation {
	all := slices.Clone(w.Operations)
	for i := range w.Holds {
		all = append(all, w.Holds[i].Operations()...)
	}
	return inOrder(all)
}

// witness returns the holds that the given operations began or belong to, and the others as
// operations. An operation without a hold is one of the others.
func (d *keyInput) witness(of []op, others ...op) (w Witness) {
	var seen []uint32
	for _, o := range of {
		switch {
		case o.hold == 0:
			others = append(others, o)
		case !slices.Contains(seen, o.hold):
			seen = append(seen, o.hold)
			w.Holds = append(w.Holds, d.a.holds(d.k, d.operationsOf(o.hold, of))...)
		}
	}
	slices.SortStableFunc(w.Holds, byStart)
	for i := range others {
		w.Operations = append(w.Operations, d.a.operation(d.k, &others[i]))
	}
	w.Operations = inOrder(w.Operations)
	return w
}

// maxOfHold bounds the operations of one hold that a violation carries.
const maxOfHold = 32

// operationsOf returns the first operations of a hold, from the one that began it up to its release
// or its client's next grant, and those of the given ones that belong to it, by call.
func (d *keyInput) operationsOf(n uint32, of []op) []op {
	began := d.k.op(d.k.holds.At(n).began)
	found := []op{began}
	end := never // of the search
	for span := int64(1_000_000); end == never; span = plus(span, 3*span) {
		found = found[:1]
		for o := range d.k.overlapping(began.call, plus(began.ret, span)) {
			if o.hold == n && o.line != began.line {
				found = append(found, o)
			}
			next := o.client == began.client && o.granted() && o.call >= began.ret && d.a.header.Kind != history.Reentrant
			if o.hold == n && o.kind == history.Release || next {
				end = min(end, o.call)
			}
		}
		if plus(began.ret, span) >= d.k.last() || len(found) >= maxOfHold {
			break
		}
	}
	sortOps(found)
	found = slices.DeleteFunc(found, func(o op) bool { return o.call > end })
	found = found[:min(len(found), maxOfHold)]
	for _, o := range of {
		if o.hold == n && !slices.ContainsFunc(found, func(x op) bool { return x.line == o.line }) {
			found = append(found, o)
		}
	}
	sortOps(found)
	return found
}

// sortOps sorts operations by call, an acquire before what may be done under it.
func sortOps(list []op) {
	slices.SortFunc(list, func(x, y op) int {
		return cmp.Or(cmp.Compare(x.call, y.call), cmp.Compare(x.ret, y.ret), cmp.Compare(rank[x.kind], rank[y.kind]), cmp.Compare(x.line, y.line))
	})
}

// grantBefore returns the last grant other than o to return by t; nothing if there is none.
func (d *keyInput) grantBefore(o *op, t int64) []op {
	first := d.k.first()
	for span := int64(1_000_000); ; span = plus(span, 3*span) {
		var last []op
		for g := range d.k.overlapping(t-span, t) {
			if g.line != o.line && g.granted() && g.ret <= t && (last == nil || cmp.Or(cmp.Compare(last[0].ret, g.ret), cmp.Compare(last[0].call, g.call), cmp.Compare(last[0].line, g.line)) < 0) {
				last = []op{g}
			}
		}
		if last != nil || t-span <= first {
			return last
		}
	}
}
