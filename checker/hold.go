package checker

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Span is a period in nanoseconds on the run's base. To is math.MaxInt64 if it has no end.
type Span struct{ From, To int64 }

// Hold is one hold of one client on one key: the operations that began, renewed and ended it, and its spans in each view. It is what the pass over
// the record found (holds.go); checks, stories and pictures read it and derive nothing again.
type Hold struct {
	Client, Token string
	Mode          history.Mode
	Fence         uint64              // 0: none
	Reentry       bool                // it began within another hold of its client, of a re-entrant lock
	Acquire       history.Operation   // the operation that began it: a granted acquire, or an extend that succeeded after a loss
	Extends       []history.Operation // successful or not, in order
	Belief        []Span              // with gaps where an extend came late
	LatestEnd     int64               // the latest instant at which the last belief can have ended; later than its end if that is unknown
	Possible      Span                // from the earliest to the latest instant at which the server can have kept it
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

// Holds returns the holds in the given operations by start, as a check finds them. An error means a broken assumption about the record.
func Holds(h history.Header, ops []history.Operation, faults []history.Window) (all []Hold, err error) {
	in := Input{Header: h, Ops: history.NewSlice(ops), Faults: faults}
	a, err := load(context.Background(), in)
	if err != nil {
		return nil, err
	}
	ev := newEvidence(in, a)
	for _, k := range a.keys {
		if err := a.findHolds(k, ev); err != nil {
			return nil, err
		}
		all = append(all, a.holds(k, slices.Collect(k.walk()))...)
	}
	slices.SortStableFunc(all, byStart)
	return all, nil
}

func byStart(a, b Hold) int {
	return cmp.Or(cmp.Compare(a.Start(), b.Start()), cmp.Compare(a.Acquire.Call, b.Acquire.Call), cmp.Compare(a.Client, b.Client))
}

// holds returns the holds to which the given records belong, by start, each with those of the records that belong to it.
func (a *archive) holds(k *keyLog, records []*record) (out []Hold) {
	at := map[uint32]int{}
	for _, r := range records {
		n := a.holdOf[r.line-1]
		if n == 0 {
			continue
		}
		i, known := at[n]
		if !known {
			i = len(out)
			at[n] = i
			out = append(out, a.hold(k, n))
		}
		a.fill(&out[i], k, n, r)
	}
	slices.SortStableFunc(out, byStart)
	return out
}

// hold returns hold number n as the pass found it, without its operations.
func (a *archive) hold(k *keyLog, n uint32) Hold {
	d := k.details.At(n)
	began := a.operation(k, d.began)
	h := Hold{Client: began.Client, Token: began.Token, Mode: began.Mode, Fence: began.Fence, Reentry: d.role == nested, Acquire: began,
		Belief: []Span{{d.began.ret, max(d.end, d.began.ret)}}, LatestEnd: k.latestEnd(d), Possible: Span{k.from(d.began), d.gone}}
	if d.release != nil {
		release := a.operation(k, d.release)
		h.Release = &release
	}
	return h
}

// fill adds a record to the hold.
func (a *archive) fill(h *Hold, k *keyLog, n uint32, r *record) {
	switch r.op {
	case history.Use:
		h.Uses = append(h.Uses, a.operation(k, r))
	case history.Lost:
		h.Lost = cmp.Or(h.Lost, r.call)
	case history.Extend:
		if r.detail == n && r.detailed() { // the hold began with it
			return
		}
		h.Extends = append(h.Extends, a.operation(k, r))
		if r.detailed() && k.detailOf(r).role == starts {
			h.Belief = append(h.Belief, Span{r.ret, max(k.detailOf(r).end, r.ret)})
			h.LatestEnd = k.latestEnd(k.detailOf(r))
		}
	}
}
