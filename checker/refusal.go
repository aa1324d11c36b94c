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
// It is not judged while a hold without a reply is possible (see ghost); where a fault of a node
// met the try, or with votes one of the client: otherwise a client that was not answered can't know
// that the lock is held; and while another's try is under way if the header says that one may
// refuse another: with votes, until a lease after it.
//
// An opportunity is a refusal. Limits: for shared locks and permits each refusal has holds that
// explain it by itself, but perhaps no order gives all of them theirs: linearizability asks that.
type refusal struct {
	tally
	pending []possible // grants called and not returned
	until   [2]int64   // one permit: by mode, until when the holds that were granted are possible
	held    []possible // several permits: holds that were granted
	tries   latest
	asking  []int64 // several permits: calls of the tries under way, in order
}

// possible is when a hold is.
type possible struct {
	line     uint32 // of its grant
	mode     history.Mode
	from, to int64
}

func newRefusal(d *keyInput) *refusal {
	return &refusal{tally: d.tallyOf(verdicts.Refusal, d.k.count(history.Acquire, history.Busy) > 0, "nobody was refused"),
		until: [2]int64{math.MinInt64, math.MinInt64}, tries: latest{most: 2}}
}

func (r *refusal) called(o *op) {
	if o.kind != history.Acquire {
		return
	}
	if h := r.d.a.header; h.Votes || h.FIFO {
		to := o.ret
		if h.Votes {
			to = kept(h, o.ret)
		}
		r.tries.add(interval{owner: o.client, end: to})
	}
	if o.granted() {
		r.pending = append(r.pending, possible{o.line, o.mode, r.d.k.asked(o), r.d.k.holds.at(o.hold).possible})
	}
	if Permits(r.d.a.header) > 1 {
		r.asking = append(r.asking, o.call)
	}
}

func (r *refusal) returned(o *op) {
	if at := slices.Index(r.asking, o.call); at >= 0 && o.kind == history.Acquire {
		defer r.forget(at)
	}
	switch {
	case o.granted():
		at := slices.IndexFunc(r.pending, func(p possible) bool { return p.line == o.line })
		r.start(r.pending[at])
		r.pending = slices.Delete(r.pending, at, at+1)
	case o.renewed() && o.hold != 0:
		if h := r.d.k.holds.at(o.hold); h.began == o.place {
			r.start(possible{o.line, o.mode, o.call, h.possible})
		}
	case o.kind == history.Acquire && o.outcome == history.Busy:
		r.judge(o)
	}
}

// forget drops a try, and what was over before each that is still under way.
func (r *refusal) forget(at int) {
	if r.asking = slices.Delete(r.asking, at, at+1); at == 0 && len(r.asking) > 0 {
		since := r.asking[0] - r.d.a.header.ClockError
		r.held = slices.DeleteFunc(r.held, func(p possible) bool { return p.to < since })
	}
}

func (r *refusal) start(p possible) {
	if r.until[p.mode] = max(r.until[p.mode], p.to); Permits(r.d.a.header) > 1 {
		r.held = append(r.held, p)
	}
}

func (r *refusal) judge(o *op) {
	switch {
	case r.explained(o):
		r.opportunity(o.call, o.ret)
	case r.d.ghostFor(o):
		r.unjudged(1, unknownOutcomes)
	case r.d.ev.excusedAnswer(r.d.a.client(o), o.call, o.ret):
		r.unjudged(1, metAFault)
	case r.tries.others(o.client) >= o.call-r.d.a.header.ClockError:
		r.unjudged(1, othersTry)
	case r.d.uses("busy-witness"):
		r.found(Violation{At: o.ret, Clients: r.d.names(*o), grantBy: o.call}, nil, *o)
	}
}

// explained reports whether holds that were possible may have refused a try, as many as there are
// permits.
func (r *refusal) explained(o *op) bool {
	h := r.d.a.header
	from, to := o.call-h.ClockError, plus(o.ret, h.ClockError)
	if Permits(h) > 1 {
		return r.full(o, from, to)
	}
	if r.until[history.Exclusive] >= from || o.mode == history.Exclusive && r.until[history.Shared] >= from {
		return true
	}
	return slices.ContainsFunc(r.soon(o, to), func(p possible) bool { return p.from <= to && mayRefuse(h.Kind, p.mode, o.mode) })
}

// soon returns the grants that are under way, and those that were called within the clock error.
func (r *refusal) soon(o *op, to int64) []possible {
	if to == o.ret {
		return r.pending
	}
	all := slices.Clone(r.pending)
	for g := range r.d.k.overlapping(o.ret, to) {
		if g.granted() && g.call > o.ret {
			all = append(all, possible{g.line, g.mode, r.d.k.asked(&g), r.d.k.holds.at(g.hold).possible})
		}
	}
	return all
}

// full reports whether at an instant of [from, to] as many holds were possible as there are
// permits.
func (r *refusal) full(o *op, from, to int64) bool {
	met := slices.DeleteFunc(slices.Concat(r.held, r.soon(o, to)), func(p possible) bool { return p.from > to || p.to < from })
	for _, at := range met {
		n := 0
		for _, p := range met {
			if t := max(at.from, from); p.from <= t && p.to >= t {
				n++
			}
		}
		if n >= Permits(r.d.a.header) {
			return true
		}
	}
	return false
}
