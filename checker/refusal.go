package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// refusal: a busy is broken if at no instant of its try a conflicting hold was possible; for
// permits, as many as there are. Holds are possible for a clock error longer on either side.
//
// It is not judged while a hold without a reply is possible (see ghost); where a fault of a node
// met the try, or with votes one of the client: otherwise a client that was not answered can't know
// that the lock is held; and while another's try is under way if the header says that one may
// refuse another: with votes, until a lease after it.
//
// An opportunity is a refusal. Limits: for shared locks and permits each refusal has holds that
// explain it by itself, but perhaps no order gives all of them theirs: linearizability asks that.
type refusal struct {
	tally
	full  [2]cover // by the mode asked for: when holds were possible that refuse it
	tries latest
}

func newRefusal(d *keyInput) *refusal {
	r := &refusal{tally: d.tallyOf(verdicts.Refusal, d.k.count(history.Acquire, history.Busy) > 0, "nobody was refused"), tries: latest{most: 2}}
	if r.applies {
		r.full = eachMode(d, func(asked history.Mode) cover {
			return d.full(0, d.holdsAgainst(asked, func(began *op) Span { return Span{d.k.asked(began), d.k.holds.at(began.hold).possible} }))
		})
	}
	return r
}

func (r *refusal) called(o *op) {
	h := r.d.a.header
	switch {
	case o.kind != history.Acquire:
	case h.Votes:
		r.tries.add(interval{owner: o.client, end: kept(h, o.ret)})
	case h.FIFO:
		r.tries.add(interval{owner: o.client, end: o.ret})
	}
}

func (r *refusal) returned(o *op) {
	if o.kind != history.Acquire || o.outcome != history.Busy {
		return
	}
	from, to := o.call-r.d.a.header.ClockError, plus(o.ret, r.d.a.header.ClockError)
	switch {
	case r.full[o.mode].meets(from, to):
		r.opportunity(o.call, o.ret)
	case r.d.ghostFor(o):
		r.unjudged(1, unknownOutcomes)
	case r.d.ev.excusedAnswer(r.d.a.client(o), o.call, o.ret):
		r.unjudged(1, metAFault)
	case r.tries.others(o.client) >= from:
		r.unjudged(1, othersTry)
	case r.d.uses("busy-witness"):
		r.found(Violation{At: o.ret, Clients: r.d.names(*o), grantBy: o.call}, nil, *o)
	}
}
