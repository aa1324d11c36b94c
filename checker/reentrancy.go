package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// reentrancy: the owner of a re-entrant lock may acquire it again, must release it as often as it acquired it, and holds until the
// last of these releases.
//
// It is broken if the owner is refused within its own belief, if a release is refused although its hold's lease was running, or if a client without
// an open hold releases successfully. An inner release that frees the lock also shows as a violation of mutual exclusion.
//
// An opportunity is a re-entry, granted or refused, or a release. It is not judged if, since the hold began, a confirmed fault hit the client, or a
// node that its commands went to. A client that re-entered without a request after its lease had ended has lapsed: its releases are not judged until
// it is granted a hold by a request. A release that no open hold explains is not judged after an acquire of unknown outcome.
//
// Limits: the server's count is not read, only its effects.
type reentrancy struct {
	tally
	owner map[uint32]*owner
}

// owner is the state of one client.
type owner struct {
	beliefs []interval // that have not ended
	granted bool       // it was granted the lock at least once
	lapsed  bool
	unsure  bool // there was an acquire of unknown outcome
}

func newReentrancy(d *keyInput) *reentrancy {
	return &reentrancy{tally: d.tallyOf(verdicts.Reentrancy, d.a.header.Kind == history.Reentrant, "the lock is not re-entrant"), owner: map[uint32]*owner{}}
}

func (e *reentrancy) called(r *record) {
	if !e.applies || r.op != history.Acquire && r.op != history.Release && !(r.op == history.Extend && r.outcome == history.OK) {
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
	default:
		e.believe(o, r)
	}
}

// believe adds the belief that begins with r, if one does, and drops those that have ended.
func (e *reentrancy) believe(o *owner, r *record) {
	o.beliefs = slices.DeleteFunc(o.beliefs, func(b interval) bool { return b.end <= r.call })
	if d := e.d.k.detailOf(r); d.role == starts || r.op == history.Acquire {
		o.beliefs = append(o.beliefs, interval{r: r, start: r.ret, end: d.end})
	}
}

func (e *reentrancy) acquire(o *owner, r *record) {
	switch r.outcome {
	case history.OK:
		again := e.d.k.detailOf(r).role == nested
		if again {
			e.opportunity(r.call, r.ret)
		}
		asked := e.d.asked(r)
		o.lapsed = !asked && (o.lapsed || o.granted && !again)
		o.granted = true
		e.believe(o, r)
	case history.Busy:
		var since *record // the latest hold, which the fewest faults excuse
		for _, b := range o.beliefs {
			if h := e.d.holdOf(b.r).began; b.start <= r.call && h.call < r.ret && r.ret < b.end && (since == nil || h.call > since.call) {
				since = h
			}
		}
		if since != nil {
			e.judge("owner-refused", o, since, r)
		}
	case history.Unknown:
		o.unsure = true
	}
}

// asked reports whether the client sent any request for an acquire; without recorded commands it did.
func (d *keyInput) asked(r *record) bool {
	client := d.clientName(r)
	return len(d.ev.commands[client]) == 0 || len(d.ev.commandsOf(client, r.call, r.ret)) > 0
}

func (e *reentrancy) release(o *owner, r *record) {
	h := e.d.k.denied[r]
	switch {
	case h != nil:
		e.judge("owner-not-held", o, h.began, r)
	case r.outcome == history.OK && e.d.holdOf(r) == nil && !o.unsure:
		e.judge("release-of-nothing", o, nil, r)
	case r.outcome == history.OK && e.d.holdOf(r) == nil:
		e.unjudged(1, unknownOutcomes)
	case r.outcome == history.OK || r.saysGone():
		e.opportunity(r.call, r.ret)
	}
}

// judge reports a violation by a reply, unless a fault or a lapse explains it.
func (e *reentrancy) judge(rule string, o *owner, since, r *record) {
	from, of := r.call, []*record(nil)
	if since != nil {
		from, of = since.call, []*record{since}
	}
	switch {
	case e.d.ev.excused(e.d.clientName(r), from, r.ret):
		e.unjudged(1, metAFault)
		return
	case o.lapsed:
		e.unjudged(1, "the client went in again after its lease had ended")
		return
	}
	e.opportunity(r.call, r.ret)
	if !e.d.obeys(rule) {
		return
	}
	v := Violation{At: r.ret, Clients: []string{e.d.clientName(r)}}
	e.found(v, func() Witness { return e.d.witness(of, r) })
}
