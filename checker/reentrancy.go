package checker

import "github.com/lockbench/lockbench/history"

// reentrancy: the owner of a re-entrant lock may acquire it again, must release it as often as it acquired it, and holds until the
// last of these releases.
//
// A refusal of the owner within its own belief is a violation, as is a release that is refused while an outer hold is still in
// force, and a release that is accepted from a client that holds nothing. Each compares an answer with the count that the client's
// own accepted operations give, which is exact because a client is sequential; clients with an operation of unknown outcome, a
// hold that lapsed, or a fault that met the hold are not judged. An inner release that frees the lock shows as
// a violation of mutual exclusion as well.
//
// Opportunities are re-entries and releases.
//
// Limits: the server's count is not read, only its effects.
type reentrancy struct {
	tally
	d     *docket
	owner map[uint32]*owner
}

// owner is the count of one client.
type owner struct {
	depth  int
	since  *record // the outermost grant
	until  int64   // the belief's end as far as it is known
	unsure bool
}

func newReentrancy(d *docket) *reentrancy {
	r := &reentrancy{tally: tally{property: history.Reentrancy, applies: d.a.header.Kind == history.Reentrant}, d: d, owner: map[uint32]*owner{}}
	if !r.applies {
		r.note = "the lock is not re-entrant"
	}
	return r
}

func (e *reentrancy) called(r *record) {
	if !e.applies || r.op == history.Use || r.op == history.Write {
		return
	}
	o := e.owner[r.client]
	if o == nil {
		o = &owner{}
		e.owner[r.client] = o
	}
	switch r.op {
	case history.Acquire:
		e.acquire(o, r)
	case history.Release:
		e.release(o, r)
	case history.Extend:
		e.extend(o, r)
	case history.Lost:
		o.depth, o.unsure = 0, true
	}
}

func (e *reentrancy) acquire(o *owner, r *record) {
	switch r.outcome {
	case history.OK:
		if o.depth > 0 && o.until <= r.call {
			o.depth, o.unsure = 0, true // lapsed: it may have been given up
		}
		if o.depth > 0 {
			e.opportunity(e.d, r.call, r.ret)
		} else {
			o.since = r
		}
		o.depth++
		o.until = e.until(r)
	case history.Busy:
		if e.healthy(o, r) && e.d.rules.on("owner-refused") {
			e.report(o, r)
		}
	case history.Unknown:
		o.unsure = true
	}
}

func (e *reentrancy) until(r *record) int64 {
	op := history.Operation{Call: r.call, ValidUntil: e.d.k.detailOf(r).until}
	return until(e.d.a.header, &op)
}

// healthy tells whether the client holds for certain until r has returned.
func (e *reentrancy) healthy(o *owner, r *record) bool {
	return o.depth > 0 && !o.unsure && o.until > r.ret && !e.d.ev.metFault(o.since.call, r.ret)
}

func (e *reentrancy) release(o *owner, r *record) {
	e.opportunity(e.d, r.call, r.ret)
	switch {
	case r.outcome == history.OK && o.depth == 0 && !o.unsure:
		if e.d.rules.on("release-of-nothing") {
			e.report(o, r)
		}
	case r.outcome == history.NotHeld || r.outcome == history.LostHold:
		if e.healthy(o, r) && e.d.rules.on("owner-not-held") {
			e.report(o, r)
		}
		o.depth, o.unsure = 0, true
	case r.outcome == history.Unknown || r.outcome == history.Fail:
		o.unsure = true
	case r.outcome == history.Busy:
	}
	o.depth = max(o.depth-1, 0)
}

func (e *reentrancy) extend(o *owner, r *record) {
	switch r.outcome {
	case history.OK:
		o.until = max(o.until, e.until(r))
	case history.LostHold, history.NotHeld:
		o.depth, o.unsure = 0, true
	}
}

func (e *reentrancy) report(o *owner, r *record) {
	v := Violation{At: r.ret, Clients: []string{e.d.clientName(r)}}
	e.found(e.d, v, func() []history.Operation {
		out := []history.Operation{e.d.operation(r)}
		if o.since != nil {
			out = append(e.d.episode(o.since), out...)
		}
		return distinct(out)
	})
}

func (e *reentrancy) returned(*record) {}
func (e *reentrancy) done()            {}
