package checker

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Span is a period in nanoseconds on the run's base. To is math.MaxInt64 if it has no end.
type Span struct{ From, To int64 }

// Hold is one hold of one client on one key, as a check finds it: the operations that began,
// renewed and ended it, and its intervals.
type Hold struct {
	Client, Token string
	Mode          history.Mode
	Fence         uint64              // 0: none
	Reentry       bool                // it began within another hold of its client, of a re-entrant lock
	Acquire       history.Operation   // the operation that began it: a grant, or an ok extend after a loss
	Extends       []history.Operation // successful or not, in order
	Belief        []Span              // with gaps where an extend came late
	Possible      Span                // when the server can have had it
	Uses          []history.Operation // critical sections within it
	Lost          int64               // when its client learnt that it is lost; 0: never
	Release       *history.Operation  // the first; nil: none
}

// Start returns when the client learnt of its hold.
func (h *Hold) Start() int64 { return h.Acquire.Return }

// End returns when the client's belief ended for good.
func (h *Hold) End() int64 { return h.Belief[len(h.Belief)-1].To }

// Operations returns all operations of the hold, by call.
func (h *Hold) Operations() []history.Operation {
	all := slices.Concat([]history.Operation{h.Acquire}, h.Extends, h.Uses)
	if h.Release != nil {
		all = append(all, *h.Release)
	}
	return inOrder(all)
}

// inOrder sorts operations by call and removes duplicates.
func inOrder(ops []history.Operation) []history.Operation {
	slices.SortFunc(ops, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(ops)
}

// Holds returns the holds in the given operations by start, as a check finds them. An error means a
// broken assumption about the record.
func Holds(h history.Header, ops []history.Operation, faults []history.Window) (all []Hold, err error) {
	in := Input{Header: h, Ops: history.NewSlice(ops), Faults: faults}
	a, err := load(context.Background(), in)
	if err != nil {
		return nil, err
	}
	ev := newEvidence(in)
	for _, k := range a.keys {
		if err := a.findHolds(k, ev); err != nil {
			return nil, err
		}
		var of []op
		for place := range a.walk(k) {
			of = append(of, k.op(place))
		}
		all = append(all, a.holds(k, of)...)
	}
	slices.SortStableFunc(all, byStart)
	return all, nil
}

func byStart(a, b Hold) int {
	return cmp.Or(cmp.Compare(a.Start(), b.Start()), cmp.Compare(a.Acquire.Call, b.Acquire.Call), cmp.Compare(a.Client, b.Client))
}

// holds returns the holds to which the given operations belong, by start, each with those of the
// operations that belong to it.
func (a *archive) holds(k *keyLog, of []op) (out []Hold) {
	at := map[uint32]int{}
	for i := range of {
		o := &of[i]
		if o.hold == 0 {
			continue
		}
		d := k.holds.at(o.hold)
		if _, known := at[o.hold]; !known {
			at[o.hold] = len(out)
			b := k.op(d.began)
			began := a.operation(k, &b)
			h := Hold{Client: began.Client, Token: began.Token, Mode: began.Mode, Fence: began.Fence, Reentry: k.nested(&b), Acquire: began,
				Belief: []Span{{b.ret, max(d.belief, b.ret)}}, Possible: Span{k.asked(&b), d.possible}}
			if d.release != 0 {
				r := k.op(d.release)
				release := a.operation(k, &r)
				h.Release = &release
			}
			out = append(out, h)
		}
		switch h := &out[at[o.hold]]; {
		case o.kind == history.Use:
			h.Uses = append(h.Uses, a.operation(k, o))
		case o.kind == history.Lost:
			h.Lost = cmp.Or(h.Lost, o.call)
		case o.kind == history.Extend && d.began != o.place:
			h.Extends = append(h.Extends, a.operation(k, o))
			if end, starts := k.beliefEnd(o); starts {
				h.Belief = append(h.Belief, Span{o.ret, max(end, o.ret)})
			}
		}
	}
	slices.SortStableFunc(out, byStart)
	return out
}
