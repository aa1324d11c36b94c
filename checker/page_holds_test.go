package checker_test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file is a hold of docs/verdicts.md as an outsider would program it: for every hold it reads the whole record again. Times are in milliseconds.

const always = int64(1) << 50

// pageHold is a hold as the table of §1 defines it.
type pageHold struct {
	acquire int // the operation it began with
	mode    history.Mode
	client  string
	token   string
	opened  int64
	closed  int64 // from when on it is no longer open, after operation
	closer  int
	left    bool // a release of it had an unknown outcome
	spans   []span
	gone    int64 // the last instant at which the server can have kept it
	owned   int64 // the same, if nothing renews it once its release was called
}

// span is a part of a belief: certainly until to, at most until most.
type span struct {
	from, to, most int64
	op             int // the grant or the extend that it begins with
}

type record struct {
	h      history.Header
	ops    []history.Operation // by time
	faults []history.Window
	fence  uint64 // the highest granted before
	holds  []*pageHold
	of     map[int]*pageHold
	begins map[int]bool      // extends that begin a new hold, after a loss
	before map[int]*pageHold // by such an extend: the hold that it extended
}

func (r *record) keep() int64 {
	if r.h.Lease == 0 {
		return always
	}
	return r.h.Lease + r.h.Drift + 1
}

// inOrder sorts operations: at one instant an acquire precedes what is done under it, and a release follows.
func inOrder(ops []history.Operation) {
	rank := map[history.Op]int{history.Acquire: 1, history.Use: 2, history.Write: 3, history.Extend: 4, history.Lost: 5, history.Release: 6}
	slices.SortStableFunc(ops, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return), cmp.Compare(rank[a.Op], rank[b.Op]), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Mode, b.Mode),
			cmp.Compare(a.Client, b.Client), unnamed(a)-unnamed(b), cmp.Compare(a.Token, b.Token), cmp.Compare(a.ID, b.ID))
	})
}

func readRecord(h history.Header, ops []history.Operation, faults []history.Window) *record {
	r := &record{h: h, ops: slices.Clone(ops), faults: faults, begins: map[int]bool{}}
	inOrder(r.ops)
	for again := true; again; { // a new hold takes the operations after it from the one before
		r.holds, r.of, r.before, again = nil, map[int]*pageHold{}, map[int]*pageHold{}, false
		r.assign()
		for _, hold := range r.holds {
			if n := r.believe(hold); n >= 0 {
				r.begins[n], again = true, true
				break
			}
		}
	}
	for _, hold := range r.holds {
		r.possible(hold)
	}
	return r
}

func named(op history.Operation) bool { return op.ModeNamed || op.Mode == history.Shared }

// assign finds for each operation the hold that it belongs to.
func (r *record) assign() {
	anew := slices.SortedFunc(maps.Keys(r.begins), func(a, b int) int {
		return cmp.Or(cmp.Compare(r.ops[a].Return, r.ops[b].Return), cmp.Compare(a, b))
	})
	for i, op := range r.ops {
		for len(anew) > 0 && anew[0] < i && r.ops[anew[0]].Return <= op.Call {
			r.renew(anew[0])
			anew = anew[1:]
		}
		if op.Op == history.Acquire {
			if op.Outcome == history.OK {
				hold := &pageHold{acquire: i, mode: op.Mode, client: op.Client, token: op.Token, opened: op.Return, closed: always}
				r.holds, r.of[i] = append(r.holds, hold), hold
				r.early(i, hold)
			}
			continue
		}
		hold := r.belongs(op)
		if hold == nil {
			continue
		}
		r.of[i] = hold
		hold.left = hold.left || op.Op == history.Release && op.Outcome == history.Unknown
		if op.Op == history.Release && (op.Outcome == history.OK || op.Outcome == history.NotHeld || op.Outcome == history.LostHold) {
			hold.closed, hold.closer = op.Return, i
		}
	}
	for _, i := range anew {
		r.renew(i)
	}
}

// early gives a hold the extends with its token that were under way when its acquire was called: a watchdog may be that early.
func (r *record) early(i int, hold *pageHold) {
	for k, o := range r.ops[:i] {
		if r.of[k] == nil && o.Op == history.Extend && o.Outcome == history.OK && o.Client == hold.client && o.Token == hold.token && o.Token != "" && r.ops[i].Call < max(o.Return, o.Call+1) {
			r.of[k] = hold
		}
	}
}

// renew begins a new hold with extend i, in the place of the one that it extended. It takes over the extends that return later.
func (r *record) renew(i int) {
	op, old := r.ops[i], r.of[i]
	hold := &pageHold{acquire: i, mode: old.mode, client: op.Client, token: old.token, opened: op.Return, closed: always}
	old.closed, old.closer = min(old.closed, op.Return), i
	r.holds, r.of[i], r.before[i] = append(r.holds, hold), hold, old
	for k, o := range r.ops {
		answered := o.Outcome == history.OK || o.Outcome == history.NotHeld || o.Outcome == history.LostHold
		if r.of[k] != old || o.Op != history.Extend || !answered || o.Return < op.Return {
			continue
		}
		later := cmp.Or(cmp.Compare(r.turn(news{op: k}), r.turn(news{op: i})), cmp.Compare(o.Outcome, history.OK), cmp.Compare(k, i)) > 0
		if o.Return > op.Return || later {
			r.of[k] = hold
		}
	}
}

func (r *record) belongs(op history.Operation) *pageHold {
	var exact, left, early, loose, touched *pageHold
	for _, h := range r.holds {
		quick := op.Op == history.Extend && op.Outcome == history.OK && op.Token != "" && r.ops[h.acquire].Call < max(op.Return, op.Call+1) // a watchdog may extend before its acquire returns
		if h.client == op.Client && h.closed == op.Call && op.Op == history.Extend && op.Outcome == history.OK && mayBeOf(op, h) {
			touched = h // it may have come before the release that returned at this instant
		}
		gone := op.Outcome == history.NotHeld || op.Outcome == history.LostHold
		if gone && h.token != "" && r.ops[h.acquire].Call >= op.Return && slices.ContainsFunc(r.holds, func(o *pageHold) bool { return o.token == h.token && o.acquire < h.acquire }) {
			continue // it may have come before it, for the one before
		}
		if h.client != op.Client || h.opened > op.Call && !(quick && op.Token == h.token) || h.closed <= op.Call {
			continue
		}
		matches := !named(op) || op.Mode == h.mode
		switch {
		case (op.Token != "" && h.token == op.Token || op.Token == "" && matches) && h.left && op.Op == history.Release:
			left = h // the next release rather belongs to the hold around it
		case op.Token != "" && h.token == op.Token && h.opened > op.Call:
			early = h
		case op.Token != "" && h.token == op.Token, op.Token == "" && matches:
			exact = h
		case h.token == "" && matches:
			loose = h
		}
	}
	if hold := cmp.Or(exact, left, early, loose, touched); hold != nil || op.Op != history.Use && op.Op != history.Write || !named(op) {
		return hold
	}
	op.Mode, op.ModeNamed = history.Exclusive, false // a critical section may have another mode than its hold
	return r.belongs(op)
}

// mayBeOf reports whether an operation has the token of a hold, where both have one, and else its mode.
func mayBeOf(op history.Operation, h *pageHold) bool {
	if op.Token != "" && h.token != "" {
		return op.Token == h.token
	}
	return !named(op) || op.Mode == h.mode
}

// openBefore reports whether a hold is not closed when operation i is called.
func (h *pageHold) openBefore(i int, op history.Operation) bool {
	return op.Call < h.closed || i < h.closer
}

// replaced reports whether a hold took the place of another, at once or by steps.
func (r *record) replaced(old, h *pageHold) bool {
	for h = r.before[h.acquire]; h != nil; h = r.before[h.acquire] {
		if h == old {
			return true
		}
	}
	return false
}

// possible finds the last instant at which the server can have kept a hold. What was asked later renews nothing of it, but for an extend of it that was
// accepted all the same.
func (r *record) possible(h *pageHold) {
	h.gone = r.keptBy(h, len(r.ops))
	h.owned = h.gone
	if i := slices.IndexFunc(r.ops, func(op history.Operation) bool { return op.Op == history.Release && r.of[slices.Index(r.ops, op)] == h }); i >= 0 {
		h.owned = min(h.gone, r.keptBy(h, i))
	}
}

// keptBy returns the same, as far as the first n operations show.
func (r *record) keptBy(h *pageHold, n int) int64 {
	latest, unsure, limit := r.ops[h.acquire].Return, int64(0), always
	for i, op := range r.ops[:n] {
		of := r.of[i]
		own := of == h && i != h.acquire || op.Op == history.Extend && op.Outcome == history.Unknown && r.replaced(of, h)
		entry := op.Op == history.Acquire && op.Outcome == history.Unknown || r.pending(i, h) // may renew at any later time
		other := r.h.Kind == history.Reentrant && op.Client == h.client && of != h && (entry || op.Call >= r.ops[h.acquire].Return) && h.openBefore(i, op) && op.Op != history.Use && op.Op != history.Write && op.Op != history.Lost
		switch {
		case !own && !other:
		case op.Call >= r.ops[h.acquire].Return && asked(op) > r.kept(latest, unsure) && !(own && op.Outcome == history.OK):
		case own && (op.Outcome == history.NotHeld || op.Outcome == history.LostHold || op.Op == history.Release && op.Outcome == history.OK && !r.innerLeft(i, h)):
			if !r.mayFollow(h, i) {
				limit = min(limit, op.Return)
			}
		case op.Outcome == history.OK && (op.Op == history.Extend || other):
			latest = max(latest, op.Return)
		case op.Outcome == history.Unknown && (op.Op == history.Extend || other):
			unsure++
		}
	}
	return min(limit, r.kept(latest, unsure))
}

// mayFollow reports whether an extend that was accepted may have made a hold again after an operation: one called when that had returned, or one
// whose hold cannot have been there.
func (r *record) mayFollow(h *pageHold, after int) bool {
	n := r.ops[after]
	return slices.ContainsFunc(r.ops, func(op history.Operation) bool {
		i := slices.Index(r.ops, op)
		if r.of[i] != h || i == h.acquire || op.Op != history.Extend || op.Outcome != history.OK {
			return false
		}
		return i > after && op.Call >= n.Return || op.Return >= n.Call && (r.saidGone(i, h) || r.leaseEnd(i, h) < op.Call)
	})
}

// innerLeft reports whether a hold inside h was left by a release of unknown outcome: if that had no effect, release i ended the inner one.
func (r *record) innerLeft(i int, h *pageHold) bool {
	return slices.ContainsFunc(r.holds, func(o *pageHold) bool {
		left := slices.ContainsFunc(r.ops[:i], func(op history.Operation) bool {
			return op.Op == history.Release && op.Outcome == history.Unknown && r.of[slices.Index(r.ops, op)] == o
		})
		return o != h && o.client == h.client && o.acquire > h.acquire && left && o.openBefore(i, r.ops[i])
	})
}

// pending reports whether an extend or a release of unknown outcome may renew a hold that a re-entrant client got later: at each entry in between the
// server may have kept a hold of that client.
func (r *record) pending(i int, h *pageHold) bool {
	op := r.ops[i]
	if op.Op != history.Extend && op.Op != history.Release || op.Outcome != history.Unknown || r.of[i] == nil || i > h.acquire || r.h.Kind != history.Reentrant {
		return false
	}
	for k := i + 1; k <= h.acquire; k++ {
		entry := r.ops[k]
		inside := slices.ContainsFunc(r.holds, func(o *pageHold) bool {
			return o.acquire < k && o.client == h.client && o.openBefore(k, entry) && !r.saidGone(k, o) && r.leaseEnd(k, o) >= asked(entry)
		})
		if entry.Client == h.client && entry.Op == history.Acquire && entry.Outcome == history.OK && !inside {
			return false
		}
	}
	return op.Client == h.client
}

// kept returns until when the server may keep what had an effect at an instant, and perhaps others after it.
func (r *record) kept(latest, unsure int64) int64 {
	if r.h.Lease == 0 {
		return always
	}
	return latest + r.keep()*(1+unsure)
}

// asked returns the earliest instant at which an operation can have had its effect.
func asked(op history.Operation) int64 {
	if op.Asked == 0 {
		return op.Call
	}
	return max(op.Call, op.Asked)
}

// unnamed returns 1 for an operation without a token, else 0.
func unnamed(op history.Operation) int {
	if op.Token == "" {
		return 1
	}
	return 0
}
