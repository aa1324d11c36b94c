package checker_test

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// This file is what the properties progress, renewal and reentrancy of docs/verdicts.md read from the record.

// account counts the judged opportunities of a property.
type account struct {
	judged, unjudged, broken, within int
}

// add counts an opportunity that was judged.
func (a *account) add(broken bool) {
	a.judged++
	if broken {
		a.broken++
	}
}

func (a account) expected() expected {
	e := expected{verdict: checker.Pass, counted: true, judged: a.judged, unjudged: a.unjudged}
	switch {
	case a.broken > 0:
		e.verdict = checker.Fail
	case a.within > 0, a.judged == 0 && a.unjudged > 0:
		e.verdict = checker.Inconclusive
	}
	return e
}

// serverFaults are done to a node; all others to a client.
var serverFaults = []string{"kill-server", "failover", "pause-server", "jump-clock", "delete-key", "evict-keys", "partition-nodes"}

func last(w history.Window) int64 {
	if w.End == 0 {
		return always
	}
	return w.End
}

// met reports whether a fault meets [from, to], by the clock of one who may be off from that of its record.
func (r *record) met(w history.Window, from, to int64) bool {
	return w.Start-r.h.ClockError <= to && last(w) >= from-r.h.ClockError
}

// excused reports whether a confirmed fault of the client, or of a server, meets an interval.
func (r *record) excused(client string, from, to int64) bool {
	return slices.ContainsFunc(r.faults, func(w history.Window) bool {
		return w.Confirmed && (w.Client == client || w.Client == "") && r.met(w, from, to)
	})
}

// upset reports whether a fault that meets [from, to] may have changed the data or the clocks of a server.
func (r *record) upset(from, to int64) bool {
	return slices.ContainsFunc(r.faults, func(w history.Window) bool {
		return r.met(w, from, to) && len(upsetsOf(w)) > 0
	})
}

// since returns when the hold of an operation began.
func (r *record) since(i int) int64 {
	if h := r.of[i]; h != nil {
		if earlier := r.runningBefore(i); r.mayBeOfNone(i, h) && earlier != nil {
			h = earlier
		}
		return r.ops[h.acquire].Call
	}
	return r.ops[i].Call
}

// renewal: an extend refused, or a loss notified, while the lease was running; an extend of no hold accepted.
func (r *record) renewal() (a account) {
	denied := r.deniedEarly()
	for i, op := range r.ops {
		if op.Op != history.Extend && op.Op != history.Lost {
			continue
		}
		switch {
		case op.Op == history.Extend && (op.Outcome == history.Unknown || op.Outcome == history.Fail):
			a.unjudged++
		case denied[i] && r.excused(op.Client, r.since(i), op.Return):
			a.unjudged++
		default:
			a.add(denied[i] || op.Op == history.Extend && op.Outcome == history.OK && r.of[i] == nil && r.cannotHaveBeen(i))
		}
	}
	return a
}

// reentrancy: a re-entry refused within the owner's belief, a release refused while the lease was running, a release of no hold accepted.
func (r *record) reentrancy() (a account) {
	denied := r.deniedEarly()
	for i, op := range r.ops {
		excused := r.excused(op.Client, r.since(i), op.Return)
		answered := op.Outcome == history.OK || op.Outcome == history.NotHeld || op.Outcome == history.LostHold
		switch {
		case op.Op == history.Acquire && op.Outcome == history.OK && r.nested(i):
			a.add(false)
		case op.Op == history.Acquire && op.Outcome == history.Busy:
			if h := r.within(i); h != nil && r.excused(op.Client, r.ops[h.acquire].Call, op.Return) {
				a.unjudged++
			} else if h != nil {
				a.add(true)
			}
		case op.Op == history.Release && answered:
			nothing := op.Outcome == history.OK && r.of[i] == nil
			switch {
			case denied[i] && excused, nothing && (r.unsure(i) || excused):
				a.unjudged++
			default:
				a.add(denied[i] || nothing)
			}
		}
	}
	return a
}

// unsure reports whether an acquire of unknown outcome of the client came before an operation.
func (r *record) unsure(i int) bool {
	return slices.ContainsFunc(r.ops[:i], func(op history.Operation) bool {
		return op.Client == r.ops[i].Client && op.Op == history.Acquire && op.Outcome == history.Unknown
	})
}

// nested reports whether a grant went to a client that believed in a hold until then.
func (r *record) nested(i int) bool {
	return slices.ContainsFunc(r.holds, func(h *pageHold) bool {
		if h.acquire >= i || h.client != r.ops[i].Client || h.opened > r.ops[i].Call || !h.openBefore(i, r.ops[i]) {
			return false
		}
		m := r.believedAt(h, i)
		return !m.over && m.now.to >= r.ops[i].Return
	})
}

// within returns the latest hold of the client whose belief began before a refusal and ended after it.
func (r *record) within(i int) *pageHold {
	op, latest := r.ops[i], (*pageHold)(nil)
	for _, h := range r.holds {
		for _, s := range h.spans {
			newer := latest == nil || r.ops[h.acquire].Call > r.ops[latest.acquire].Call
			if h.client == op.Client && s.from <= op.Call && s.op < i && r.ops[h.acquire].Call < op.Return && op.Return < s.to && newer {
				latest = h
			}
		}
	}
	return latest
}

// progress: a lock is not acquired although no client can have held it for a lease and the grace.
func (r *record) progress() (a account) {
	var tries []int // by return
	for i, op := range r.ops {
		if op.Op == history.Acquire && op.Outcome != history.Unknown {
			tries = append(tries, i)
		}
	}
	slices.SortStableFunc(tries, func(x, y int) int { return int(r.ops[x].Return - r.ops[y].Return) })
	limit := 2*r.h.Lease + max(1000-r.h.Lease, 0)
	told, busy, since, tried := false, 0, int64(-1), history.Operation{}
	first, latest, waiter := int64(0), int64(0), ""
	for at, i := range tries {
		op := r.ops[i]
		if r.passedOver(tries[:at], i, limit) {
			if a.add(true); op.Outcome == history.OK {
				since, told = -1, false
			} else if op.Outcome == history.Busy {
				if busy++; busy == 1 {
					first = op.Call
				}
				latest = op.Return
			}
			continue
		}
		taken := r.taken(tries[:at], op.Return, "")
		free := max(taken, op.Call)
		if op.Outcome == history.OK {
			if !(r.h.Kind == history.Reentrant && r.nested(i)) {
				switch late := op.Return-free >= limit; {
				case late && r.excused(op.Client, free, op.Return):
					a.unjudged++
				case late && op.Return-max(free, r.takenByOthers(tries[:at], op)+r.h.ClockError) < limit:
					a.within, a.unjudged = a.within+1, a.unjudged+1
				default:
					a.add(late)
				}
				since, told = -1, false
			}
			continue
		}
		late := r.unavailable(op.Client, op.Return)
		refused := op.Outcome == history.Busy && tried.Outcome == history.Busy
		if free = max(free, late); late > since || !refused && op.Call-tried.Return > 1000 { // nobody waited in between
			since = -1
		}
		tried = op
		if op.Outcome == history.Busy {
			if busy++; busy == 1 {
				first = op.Call
			}
			latest = op.Return
		}
		if plain := max(taken, op.Call); late > plain && op.Return-plain >= limit && op.Return-late < limit {
			a.unjudged++
			continue
		}
		broken := false
		if !r.underWay(i) && (free < op.Return || free == op.Call) {
			if since < 0 || since < min(taken, op.Return) || free < since {
				since, waiter = free, op.Client
			}
			broken = op.Return-since >= limit && !told
			sure := max(since, r.takenByOthers(tries[:at], op)+r.h.ClockError)
			if waiter != op.Client { // by another clock
				sure = since + r.h.ClockError
			}
			if broken && op.Return-sure < limit {
				a.within, a.unjudged = a.within+1, a.unjudged+1
				continue
			}
			told = told || broken
		}
		a.add(broken)
	}
	possible := slices.ContainsFunc(r.ops, func(op history.Operation) bool {
		return op.Op == history.Acquire && (op.Outcome == history.OK || op.Outcome == history.Unknown)
	})
	injected := r.h.Votes || slices.ContainsFunc(r.faults, func(w history.Window) bool {
		return w.Confirmed && w.Client == "" && r.met(w, first, latest)
	})
	if !possible && busy >= 2 && a.broken == 0 && (!injected || latest-first >= limit) {
		a.broken++ // never granted
	}
	return a
}

// passedOver reports whether nobody can have held for too long while a client waited, before another was granted the lock: a fault explains it, and who
// may have held ends that time.
func (r *record) passedOver(tries []int, i int, limit int64) bool {
	if op := r.ops[i]; op.Outcome == history.OK && r.h.Kind == history.Reentrant && r.nested(i) {
		return false
	}
	from := func(op history.Operation) int64 {
		if op.Outcome == history.OK && op.WasAsked() {
			return max(op.Call, op.Asked)
		}
		return op.Call
	}
	for at, g := range tries {
		if r.ops[g].Outcome != history.OK || r.h.Kind == history.Reentrant && r.nested(g) {
			continue
		}
		free, until := max(r.taken(tries[:at], r.ops[g].Return, ""), r.ops[i].Call), from(r.ops[g])
		for k, o := range r.ops {
			if k != i && o.Op == history.Acquire && (o.Outcome == history.OK || o.Outcome == history.Unknown) && o.Return >= free {
				until = min(until, from(o))
			}
		}
		fault := slices.ContainsFunc(r.faults, func(w history.Window) bool { return w.Confirmed && r.met(w, free-r.h.Lease, until) })
		if until-free-2*r.h.ClockError >= limit && !fault {
			return true
		}
	}
	return false
}

// underWay reports whether a grant was called by the return of a failed try, and has not returned.
func (r *record) underWay(i int) bool {
	return slices.ContainsFunc(r.ops, func(op history.Operation) bool {
		return op.Op == history.Acquire && op.Outcome == history.OK && op.Call <= r.ops[i].Return && op.Return >= r.ops[i].Return && !(r.h.Kind == history.Reentrant && r.nested(slices.Index(r.ops, op)))
	})
}

// takenByOthers returns until when the lock counts as taken by the clients other than that of an acquire.
func (r *record) takenByOthers(tries []int, op history.Operation) int64 {
	return r.taken(tries, op.Return, op.Client)
}

// taken returns until when the lock counts as taken by the grants among some tries, and by acquires of unknown outcome called by an instant, leaving out
// those of one client.
func (r *record) taken(tries []int, by int64, without string) int64 {
	until := -always
	for _, i := range tries {
		h := r.of[i]
		if h == nil || r.ops[i].Op != history.Acquire || r.ops[i].Client == without {
			continue
		}
		if at, orphan := r.orphaned(h); orphan && h.gone == always {
			until = max(until, at+r.h.Drift+1)
		} else {
			owned := h.owned
			if !r.released(h) {
				owned = r.delayed(r.ops[i].Call, owned)
			}
			until = max(until, owned, h.spans[0].to)
		}
	}
	for i := range r.before {
		if anew := r.of[i]; r.ops[i].Return <= by && r.ops[i].Client != without {
			until = max(until, anew.gone, anew.spans[0].to)
		}
	}
	for _, op := range r.ops {
		if op.Op == history.Acquire && op.Outcome == history.Unknown && op.Call <= by && op.Client != without {
			until = max(until, op.Return+r.h.Lease+r.h.Drift+1)
		}
	}
	return until
}

// released reports whether the client of a hold tried to release it.
func (r *record) released(h *pageHold) bool {
	for i, of := range r.of {
		if of == h && r.ops[i].Op == history.Release {
			return true
		}
	}
	return false
}

// delayed returns the latest end of a lease, given the faults that set a server's clock back.
func (r *record) delayed(from, end int64) int64 {
	for _, w := range r.faults {
		if !w.Confirmed || end == always || w.Start > end || last(w) < from {
			continue
		}
		for _, u := range upsetsOf(w) {
			end += u.later
		}
	}
	return end
}

// orphaned returns from when on no client will release a hold that no lease ends.
func (r *record) orphaned(h *pageHold) (at int64, orphan bool) {
	idle := int64(0)
	for i, op := range r.ops {
		if op.Client == h.client && op.Op != history.Use && op.Op != history.Extend && op.Op != history.Lost {
			idle = max(idle, op.Return)
		}
		if r.of[i] == h && op.Op == history.Release && !orphan {
			at, orphan = op.Return, true
		}
	}
	for _, w := range r.faults {
		if w.Fault == "crash-client" && w.Confirmed && w.Client == h.client {
			return max(w.Start, idle), true
		}
	}
	return at, orphan
}

// unavailable returns until when, by an instant, a client could not be served because a server was down or unreachable, or the client was stopped or
// dead.
func (r *record) unavailable(client string, by int64) int64 {
	until := -always
	for _, w := range r.faults {
		server := slices.Contains([]string{"kill-server", "failover", "pause-server", "partition-nodes"}, w.Fault)
		own := w.Client == client && slices.Contains([]string{"pause-client", "blackhole-client", "crash-client"}, w.Fault)
		if w.Confirmed && w.Start <= by && (server || own) {
			end := last(w)
			if w.Fault == "failover" && r.h.NeedsReplica {
				end = by // the new primary has no replica to confirm a grant
			}
			until = max(until, min(end, by))
		}
	}
	return until
}

// promises judges the properties that are read from the record and have counts.
func (r *record) promises(out map[verdicts.Property]expected) {
	out[verdicts.Renewal], out[verdicts.Progress] = r.renewal().expected(), r.progress().expected()
	if r.h.Kind == history.Reentrant {
		out[verdicts.Reentrancy] = r.reentrancy().expected()
	}
	for p, n := range r.opportunities() {
		e := out[p]
		e.total, e.summed = n, p != verdicts.MutualExclusion || e.verdict == checker.Pass || !r.resumes()
		out[p] = e
	}
}

// opportunities counts the opportunities of the other properties.
func (r *record) opportunities() map[verdicts.Property]int {
	n := map[verdicts.Property]int{}
	for i, op := range r.ops {
		accepted := op.Outcome == history.OK
		switch {
		case op.Op == history.Use:
			n[verdicts.ExclusiveUse]++
		case op.Op == history.Write && accepted && !r.severalMayWrite(i):
			n[verdicts.StoreIntegrity]++
		case op.Op == history.Acquire && op.Outcome == history.Busy:
			n[verdicts.Refusal]++
		case op.Op == history.Acquire && accepted:
			if op.Fence != 0 && op.Mode == history.Exclusive {
				n[verdicts.FencingOrder]++
			}
		case (op.Op == history.Release || op.Op == history.Extend) && accepted:
			n[verdicts.ReleaseSafety]++
		}
	}
	for _, h := range r.holds {
		if r.meets(h, h.spans[0]) {
			n[verdicts.MutualExclusion]++
		}
	}
	return n
}

// resumes reports whether a belief resumes after a gap; if it then conflicts it counts, too.
func (r *record) resumes() bool {
	return slices.ContainsFunc(r.holds, func(h *pageHold) bool { return len(h.spans) > 1 })
}

// meets reports whether a belief, other than one within another of its client's, began after that in other holds with which it would conflict.
func (r *record) meets(h *pageHold, s span) bool {
	met := 0
	for _, o := range r.holds {
		conflict := r.conflict(stretch{of: o, client: o.client, mode: o.mode}, stretch{of: h, client: h.client, mode: h.mode})
		before := func(b span) bool { return b.most > b.from && r.precedes(b, s) }
		if o != h && conflict && slices.ContainsFunc(o.spans, before) {
			met++
		}
	}
	return met >= max(1, r.h.Permits) && !r.contained(h, s)
}

// contained reports whether a belief lies within an earlier one that its client has in another hold of a re-entrant lock.
func (r *record) contained(h *pageHold, s span) bool {
	return r.h.Kind == history.Reentrant && slices.ContainsFunc(r.holds, func(o *pageHold) bool {
		around := func(b span) bool { return r.precedes(b, s) && b.to > s.from && b.to >= s.to }
		return o != h && o.client == h.client && slices.ContainsFunc(o.spans, around)
	})
}

// precedes reports whether a belief comes before another. Of two that begin at one instant what was done decides and, if that is the same, not who did
// it: one that was over at once comes last, of others that which ends first comes first.
func (r *record) precedes(a, b span) bool {
	x, y := r.ops[a.op], r.ops[b.op]
	if a.from != b.from {
		return a.from < b.from
	}
	if x.Call != y.Call || x.Op != y.Op || x.Mode != y.Mode {
		return a.op < b.op
	}
	if over := b.most <= b.from; over != (a.most <= a.from) {
		return over
	}
	return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.most, b.most), cmp.Compare(x.ID, y.ID), cmp.Compare(a.op, b.op)) < 0
}
