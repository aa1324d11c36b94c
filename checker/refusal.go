package checker

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// refusal: a busy is broken if at no instant of its try a conflicting hold was possible; for
// permits, as many as there are. Holds are possible for a clock error longer on either side.
//
// It is not judged while a ghost is possible; where a fault of a node met the try, or with votes a
// fault of the client; and while another's try is under way where one try may refuse another
// (header fifo; votes, until a lease after it).
//
// An opportunity is a refusal. Limits: of shared locks and permits each refusal may have holds that
// explain it although no order explains all of them: linearizability asks that.
type refusal struct {
	tally
	full    []Span   // several permits: where as many holds were possible
	until   [2]int64 // one permit: by mode, until when the holds that were granted are possible
	pending []op     // one permit: grants called and not returned
	tries   latest
}

func newRefusal(d *keyInput) *refusal {
	r := &refusal{tally: d.tallyOf(verdicts.Refusal, d.k.count(history.Acquire, history.Busy) > 0, "no acquire ended with a refusal"),
		until: [2]int64{math.MinInt64, math.MinInt64}, tries: latest{most: 2}}
	if r.applies && Permits(d.a.header) > 1 {
		off := d.a.header.ClockError // of the refused client's clock
		r.full = d.full(0, d.holdsAgainst(history.Exclusive, func(began *op) Span {
			return Span{d.k.asked(began) - off, plus(d.k.holds.at(began.hold).possible, off)}
		}))
	}
	return r
}

func (r *refusal) called(o *op) {
	if o.kind != history.Acquire {
		return
	}
	if o.granted() && Permits(r.d.a.header) == 1 {
		r.pending = append(r.pending, *o)
	}
	switch h := r.d.a.header; {
	case h.Votes:
		r.tries.add(interval{owner: o.client, end: kept(h, o.ret)})
	case h.FIFO:
		r.tries.add(interval{owner: o.client, end: o.ret})
	}
}

func (r *refusal) returned(o *op) {
	if o.hold != 0 && r.d.k.holds.at(o.hold).began == o.place {
		r.until[o.mode] = max(r.until[o.mode], r.d.k.holds.at(o.hold).possible)
		r.pending = slices.DeleteFunc(r.pending, func(p op) bool { return p.line == o.line })
	}
	if o.kind != history.Acquire || o.outcome != history.Busy {
		return
	}
	switch {
	case r.explained(o):
		r.opportunity(o.call, o.ret)
	case r.d.ghostFor(o):
		r.unjudged(unknownOutcomes)
	case r.d.ev.excusedAnswer(r.d.a.client(o), o.call, o.ret):
		r.unjudged(metAFault)
	case r.tries.others(o.client) >= o.call-r.d.a.header.ClockError:
		r.unjudged(othersTry)
	case r.d.uses("busy-witness"):
		r.found(Violation{At: o.ret, Clients: r.d.names(*o), grantBy: o.call}, nil, *o)
	}
}

// explained reports whether holds that were possible may have refused a try, as many as there are
// permits.
func (r *refusal) explained(o *op) bool {
	h := r.d.a.header
	if Permits(h) > 1 {
		i, _ := slices.BinarySearchFunc(r.full, o.call, endsBefore)
		return i < len(r.full) && r.full[i].From <= o.ret
	}
	from, to := o.call-h.ClockError, plus(o.ret, h.ClockError)
	if r.until[history.Exclusive] >= from || o.mode == history.Exclusive && r.until[history.Shared] >= from {
		return true
	}
	refuses := func(g op) bool { return g.granted() && mayRefuse(h.Kind, g.mode, o.mode) && r.d.k.asked(&g) <= to }
	if h.ClockError == 0 {
		return slices.ContainsFunc(r.pending, refuses)
	}
	for g := range r.d.k.overlapping(o.ret, to) { // those called within the clock error, too
		if refuses(g) {
			return true
		}
	}
	return false
}
