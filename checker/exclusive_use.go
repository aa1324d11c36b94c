package checker

import "github.com/lockbench/lockbench/history"

// exclusiveUse: no two conflicting critical sections overlap. A use is [entered, left], what the client really did, whether or not it was
// still entitled to. A lock with a lease cannot keep this promise when a client stalls for longer than the lease: the sections then
// overlap although the beliefs do not. That is inherent, and what fencing is for.
//
// The definition is the overlap of closed intervals of different clients (see overlaps), so the sweep is its own proof.
//
// Opportunities are hand-overs of use: consecutive uses by different clients.
//
// Limits: what a client does after it left, or before it entered, is not seen. An overlap no longer than the clock error
// between recorders is reported apart.
type exclusiveUse struct {
	tally
	d    *docket
	over *overlaps
	last interval
}

func newExclusiveUse(d *docket) *exclusiveUse {
	return &exclusiveUse{tally: tally{property: history.ExclusiveUse}, d: d, over: newOverlaps(d.a.header, false)}
}

func (u *exclusiveUse) called(r *record) {
	if r.op != history.Use {
		return
	}
	u.applies = true
	i := interval{r, r.call, r.ret}
	if u.last.r != nil && u.last.r.client != r.client {
		u.opportunity(u.d, u.last.start, i.start)
	}
	u.last = i
	if with := u.over.add(i); len(with) > 0 && u.d.rules.on("use-overlap") {
		u.found(u.d, overlapViolation(u.d, i, with), func() []history.Operation { return u.sections(i, with) })
	}
}

// sections gives the uses and the holds that they were done under.
func (u *exclusiveUse) sections(i interval, with []interval) []history.Operation {
	var out []history.Operation
	for _, w := range append(with, i) {
		out = append(out, u.d.holdAround(w.r)...)
	}
	return out
}

func (u *exclusiveUse) returned(*record) {}

func (u *exclusiveUse) done() {
	if !u.applies {
		u.note = "no critical sections were recorded"
	}
}

// holdAround gives the hold under which r's client did r: its last grant before r and what followed it; r alone when there is none.
func (d *docket) holdAround(r *record) []history.Operation {
	var grant *record
	back := max(d.a.header.Lease, 1_000_000)
	for from := r.call - back; grant == nil; from -= back {
		d.k.records(from, r.call, func(o *record) {
			if o.client == r.client && o.granted() && o.ret <= r.call && (grant == nil || byCall(*grant, *o) < 0) {
				grant = o
			}
		})
		if from <= d.k.chunks[0].records[0].call {
			break
		}
		back *= 4
	}
	if grant == nil {
		return []history.Operation{d.operation(r)}
	}
	return d.episode(grant)
}
