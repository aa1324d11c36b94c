package checker_test

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file is §1 of VERDICTS as an outsider would program it: for every hold the whole record is read once more. Times are in milliseconds.

const always = int64(1) << 50

// pageHold is a hold as the table of §1 defines it.
type pageHold struct {
	acquire int // the operation it began with
	mode    history.Mode
	client  string
	token   string
	opened  int64
	closed  int64 // from when on it is not open any more
	spans   []span
	gone    int64 // the last instant at which the server can have kept it
	ops     []int // what belongs to it, in order
}

// span is a stretch of belief: surely until to, perhaps until most.
type span struct{ from, to, most int64 }

type record struct {
	h      history.Header
	ops    []history.Operation // by time
	faults []history.Window
	holds  []*pageHold
	of     map[int]*pageHold
}

func (r *record) keep() int64 {
	if r.h.Lease == 0 {
		return always
	}
	return r.h.Lease + r.h.Drift + 1
}

// inOrder sorts operations: at one instant an acquire comes before what is done under it, and a release after that.
func inOrder(ops []history.Operation) {
	rank := map[history.Op]int{history.Acquire: 1, history.Use: 2, history.Write: 3, history.Extend: 4, history.Lost: 5, history.Release: 6}
	slices.SortStableFunc(ops, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return), cmp.Compare(rank[a.Op], rank[b.Op]), cmp.Compare(a.ID, b.ID))
	})
}

func readRecord(h history.Header, ops []history.Operation, faults []history.Window) *record {
	r := &record{h: h, ops: slices.Clone(ops), faults: faults, of: map[int]*pageHold{}}
	inOrder(r.ops)
	r.assign()
	for _, hold := range r.holds {
		r.believe(hold)
		r.possible(hold)
	}
	return r
}

func named(op history.Operation) bool { return op.ModeNamed || op.Mode == history.Shared }

// assign finds for each operation the hold that it belongs to.
func (r *record) assign() {
	for i, op := range r.ops {
		if op.Op == history.Acquire {
			if op.Outcome == history.OK {
				hold := &pageHold{acquire: i, mode: op.Mode, client: op.Client, token: op.Token, opened: op.Return, closed: always, ops: []int{i}}
				r.holds, r.of[i] = append(r.holds, hold), hold
			}
			continue
		}
		hold := r.belongs(op)
		if hold == nil {
			continue
		}
		r.of[i] = hold
		hold.ops = append(hold.ops, i)
		if op.Op == history.Release && (op.Outcome == history.OK || op.Outcome == history.NotHeld || op.Outcome == history.LostHold) {
			hold.closed = op.Return
		}
	}
}

func (r *record) belongs(op history.Operation) *pageHold {
	var exact, loose *pageHold
	for _, h := range r.holds {
		if h.client != op.Client || h.opened > op.Call || h.closed <= op.Call {
			continue
		}
		switch {
		case op.Token != "" && h.token == op.Token:
			exact = h
		case (op.Token == "" || h.token == "") && (!named(op) || op.Mode == h.mode):
			loose = h
		}
	}
	if exact != nil {
		return exact
	}
	return loose
}

// told returns until when an answer protects its holder: surely, and perhaps.
func (r *record) told(op history.Operation) (to, most int64) {
	switch {
	case op.ValidUntil > op.Return:
		return op.ValidUntil, op.ValidUntil
	case r.h.Lease == 0:
		return always, always
	case op.Asked != 0:
		return op.Asked + r.h.Lease - r.h.Drift, op.Asked + r.h.Lease - r.h.Drift
	case op.Op == history.Acquire && 10*(op.Return-op.Call) >= r.h.Lease:
		return op.Call + r.h.Lease - r.h.Drift, op.Return + r.h.Lease - r.h.Drift
	}
	return op.Call + r.h.Lease - r.h.Drift, op.Call + r.h.Lease - r.h.Drift
}

// believe finds the belief of a hold, with its gaps.
func (r *record) believe(h *pageHold) {
	a := r.ops[h.acquire]
	stop, lost, released, crash := always, always, always, always
	for _, w := range r.faults {
		if w.Fault == "crash-client" && w.Confirmed && w.Client == h.client && w.Start >= a.Return {
			crash = min(crash, w.Start)
		}
	}
	stop = crash
	type renewal struct {
		at, to, most int64
		reentry      bool
	}
	var renewals []renewal
	sibling := func(o *pageHold) bool {
		return r.h.Kind == history.Reentrant && o != nil && o != h && o.client == h.client
	}
	for i, op := range r.ops {
		of := r.of[i]
		open := op.Call >= h.opened && op.Call < h.closed
		to, most := int64(0), int64(0)
		if op.Outcome == history.OK {
			to, most = r.told(op)
		}
		refused := op.Outcome == history.NotHeld || op.Outcome == history.LostHold
		switch {
		case of == h && op.Op == history.Release:
			stop, released = min(stop, op.Call), min(released, op.Call)
		case of == h && op.Op == history.Lost:
			stop, lost = min(stop, op.Call), min(lost, op.Call)
		case of == h && op.Op == history.Extend && refused, sibling(of) && open && refused && op.Op != history.Acquire:
			stop, lost = min(stop, op.Return), min(lost, op.Return)
		case of == h && op.Op == history.Extend && op.Outcome == history.OK:
			renewals = append(renewals, renewal{op.Return, to, most, false})
		case sibling(of) && open && op.Op == history.Extend && op.Outcome == history.OK:
			renewals = append(renewals, renewal{op.Return, to, most, true})
		case sibling(of) && open && op.Op == history.Acquire && op.Outcome == history.OK:
			renewals = append(renewals, renewal{op.Return, to, most, true})
		}
	}
	slices.SortStableFunc(renewals, func(a, b renewal) int { return cmp.Compare(a.at, b.at) })
	to, most := r.told(a)
	now := span{a.Return, to, most}
	for _, n := range renewals {
		switch {
		case n.at > stop:
		case n.at <= now.to:
			now.to, now.most = max(now.to, n.to), max(now.most, n.most)
		case n.reentry: // resumes nothing
			if n.at <= now.most {
				now.most = max(now.most, n.most)
			}
		default:
			now.most = min(now.most, n.at)
			h.spans = append(h.spans, now)
			now = span{n.at, n.to, n.most}
		}
	}
	h.spans = append(h.spans, now)
	for i := range h.spans {
		h.spans[i].to, h.spans[i].most = min(h.spans[i].to, stop), min(h.spans[i].most, stop)
	}
	for _, n := range renewals { // after a loss, an ok extend begins a new hold
		if n.at > lost && lost == stop && n.at <= released && !n.reentry {
			h.spans = append(h.spans, span{n.at, min(n.to, released, crash), min(n.most, released, crash)})
		}
	}
}

// possible finds the last instant at which the server can have kept a hold.
func (r *record) possible(h *pageHold) {
	latest, unsure, limit := r.ops[h.acquire].Return, int64(0), always
	for i, op := range r.ops {
		of := r.of[i]
		own := of == h && i != h.acquire
		other := r.h.Kind == history.Reentrant && op.Client == h.client && of != h && op.Call >= r.ops[h.acquire].Return && op.Call < h.closed && op.Op != history.Use && op.Op != history.Write && op.Op != history.Lost
		switch {
		case !own && !other:
		case op.Outcome == history.NotHeld || op.Outcome == history.LostHold:
			limit = min(limit, op.Return)
		case own && op.Op == history.Release && op.Outcome == history.OK:
			limit = min(limit, op.Return)
		case op.Outcome == history.OK && (op.Op == history.Extend || other):
			latest = max(latest, op.Return)
		case op.Outcome == history.Unknown && (op.Op == history.Extend || other):
			unsure++
		}
	}
	h.gone = limit
	if r.h.Lease > 0 {
		h.gone = min(limit, latest+r.keep()*(1+unsure))
	}
}
