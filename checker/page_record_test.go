package checker_test

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file is what docs/verdicts.md reads from the record.

// stretch is a belief or a use, as an interval of one hold.
type stretch struct {
	of       any
	client   string
	mode     history.Mode
	from, to int64
}

func (r *record) conflict(a, b stretch) bool {
	same := a.client == b.client
	switch r.h.Kind {
	case history.Reentrant:
		return !same
	case history.RW:
		if same {
			return a.of != b.of && a.mode == history.Exclusive && b.mode == history.Exclusive
		}
		return a.mode == history.Exclusive || b.mode == history.Exclusive
	}
	return a.of != b.of
}

// longest returns the longest time for which stretches conflict without a gap.
func (r *record) longest(all []stretch) (most int64) {
	if r.h.Kind != history.Semaphore {
		for i, a := range all {
			for _, b := range all[:i] {
				if r.conflict(a, b) {
					most = max(most, min(a.to, b.to)-max(a.from, b.from))
				}
			}
		}
		return most
	}
	var times []int64
	for _, a := range all {
		times = append(times, a.from, a.to)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	since := int64(-1)
	full := false
	for i := 0; i+1 < len(times); i++ {
		holders := map[any]bool{}
		for _, a := range all {
			if a.from <= times[i] && a.to > times[i] {
				holders[a.of] = true
			}
		}
		if len(holders) <= r.h.Permits {
			full = false
			continue
		}
		if !full {
			since, full = times[i], true
		}
		most = max(most, times[i+1]-since)
	}
	return most
}

// beliefs returns the stretches of all beliefs, as long as they certainly were.
func (r *record) beliefs() (out []stretch) {
	for _, h := range r.holds {
		for _, s := range h.spans {
			if s.to > s.from {
				out = append(out, stretch{h, h.client, h.mode, s.from, s.to})
			}
		}
	}
	return out
}

func (r *record) uses() (out []stretch) {
	for i, op := range r.ops {
		if op.Op != history.Use || op.Return <= op.Call {
			continue
		}
		s := stretch{i, op.Client, op.Mode, op.Call, op.Return}
		if h := r.of[i]; h != nil {
			s.of = h
			if !named(op) {
				s.mode = h.mode
			}
		}
		out = append(out, s)
	}
	return out
}

// chained reports whether the writes have an order, each between call and return, that is a chain from one initial value, and in which none was accepted
// after one with a higher fence. One without recorded values may have read and stored any.
func (r *record) chained(clockError int64) bool {
	var writes []history.Operation
	for i, op := range r.ops {
		if op.Op != history.Write || op.Outcome != history.OK && op.Outcome != history.Unknown {
			continue
		}
		if r.severalMayWrite(i) {
			return true // with writes under shared holds no chain is judged
		}
		writes = append(writes, op)
	}
	var next func(placed int, value int64, started bool, fence uint64) bool
	next = func(placed int, value int64, started bool, fence uint64) bool {
		left := false
		for i, w := range writes {
			left = left || placed&(1<<i) == 0 && w.Outcome == history.OK
		}
		if !left {
			return true
		}
		for i, w := range writes {
			if placed&(1<<i) != 0 || started && w.HasValue && w.Read != value || w.Fence != 0 && w.Fence < fence {
				continue
			}
			first := true // nothing that must precede it is left
			for k, o := range writes {
				// by one client's clock, or by two that may differ
				before := o.Return < w.Call && (o.Client == w.Client || o.Return+clockError < w.Call) || o.Client == w.Client && o.Return <= w.Call && o.Call < w.Return
				if k != i && placed&(1<<k) == 0 && o.Outcome == history.OK && before {
					first = false
				}
			}
			if first && next(placed|1<<i, w.Wrote, w.HasValue, max(fence, w.Fence)) {
				return true
			}
		}
		return false
	}
	return next(0, 0, false, 0)
}

// stale reports whether a stale write was accepted.
func (r *record) stale(clockError int64) bool {
	return slices.ContainsFunc(r.ops, func(op history.Operation) bool { return r.staleWrite(slices.Index(r.ops, op), clockError) })
}

// after reports whether an operation was called after another had returned, by one client's clock or by two that may differ.
func after(op, other history.Operation, clockError int64) bool {
	return op.Call > other.Return && (op.Client == other.Client || op.Call-other.Return > clockError)
}

// requested returns the operation by which a hold was granted, as called when the granted try began.
func (r *record) requested(h *pageHold) history.Operation {
	op := r.ops[h.acquire]
	if op.Op == history.Acquire {
		op.Call = asked(op)
	}
	return op
}

// severalMayWrite reports whether an operation lies in a hold of which several may exist at once.
func (r *record) severalMayWrite(i int) bool {
	h := r.of[i]
	return h != nil && (r.h.Kind == history.RW && h.mode == history.Shared || r.h.Kind == history.Semaphore && r.h.Permits > 1)
}

func (r *record) staleWrite(i int, clockError int64) bool {
	w := r.ops[i]
	if r.severalMayWrite(i) {
		return false
	}
	for k, o := range r.ops {
		written := w.Op == history.Write && w.Outcome == history.OK && o.Op == history.Write && o.Outcome == history.OK
		next := w.Client == o.Client && o.Return == w.Call && (o.Call < w.Call || o.Return < w.Return) // of its own writes a client knows the order
		if written && k != i && next && w.Fence != 0 && w.Fence < o.Fence {
			return true
		}
		if !written || k == i || !after(w, o, clockError) {
			continue
		}
		own, other := r.of[i], r.of[k]
		late := own != nil && other != nil && own.gone < w.Call && after(r.requested(other), r.ops[own.acquire], clockError)
		if late || w.Fence != 0 && w.Fence < o.Fence {
			return true
		}
	}
	return false
}

// wrongful returns the releases and extends that the table shows to have been accepted wrongly.
func (r *record) wrongful() (out []int) {
	for i, op := range r.ops {
		if op.Outcome == history.OK && (op.Op == history.Extend || op.Op == history.Release) && r.cannotHaveBeen(i) &&
			!r.forgiven(i) && (op.Op == history.Extend || r.endsAnother(i)) {
			out = append(out, i)
		}
	}
	return out
}

// cannotHaveBeen reports whether the hold of an accepted operation cannot have existed.
func (r *record) cannotHaveBeen(i int) bool {
	op, h := r.ops[i], cmp.Or(r.before[i], r.of[i])
	if h == nil {
		asked := r.ops
		if op.Op == history.Release { // one thing after the other, at one instant too
			asked = r.ops[:i]
		}
		meant := slices.ContainsFunc(asked, func(o history.Operation) bool { // a token that an earlier grant returned means that grant
			return o.Op == history.Acquire && o.Outcome == history.OK && o.Token == op.Token && op.Token != "" && o.Call < max(op.Return, op.Call+1)
		})
		return !slices.ContainsFunc(asked, func(o history.Operation) bool { // it may belong to an acquire of unknown outcome
			same := o.Token == op.Token && op.Token != "" || (o.Token == "" || op.Token == "") && op.Op == history.Extend
			early := o.Outcome == history.OK && same && o.Return > op.Call // a watchdog may extend before its acquire returns
			unsure := o.Outcome == history.Unknown && !meant && o.Call < max(op.Return, op.Call+1) && (!named(op) || o.Mode == op.Mode)
			return o.Client == op.Client && o.Op == history.Acquire && (unsure || early) && o.Call < max(op.Return, op.Call+1)
		})
	}
	if op.Op == history.Extend && r.meansPending(op, h) {
		return false
	}
	other := !(op.Token != "" && op.Token == h.token) && r.h.Kind != history.Reentrant && slices.ContainsFunc(r.holds, func(o *pageHold) bool { // it may mean any open hold
		open := o.client == op.Client && o.opened <= op.Call && o.openBefore(i, op)
		return o != h && open && mayBeOf(op, o) && !r.replaced(o, h) && !r.replaced(h, o) && r.leaseEnd(i, o) >= op.Call
	})
	return !other && (r.saidGone(i, h) || r.leaseEnd(i, h) < op.Call) || r.overtaken(i)
}

// saidGone reports whether a reply before operation i said that its hold is gone.
func (r *record) saidGone(i int, h *pageHold) bool {
	for k, o := range r.ops {
		if r.of[k] == h && k != i && (o.Outcome == history.NotHeld || o.Outcome == history.LostHold) && o.Return < r.ops[i].Call && !r.madeAgain(h, k, i) {
			return true
		}
	}
	return false
}

// madeAgain reports whether an extend of a hold was accepted after one operation and before another.
func (r *record) madeAgain(h *pageHold, after, before int) bool {
	for k := after + 1; k < len(r.ops); k++ {
		o := r.ops[k]
		if k != before && r.of[k] == h && o.Op == history.Extend && o.Outcome == history.OK && o.Call >= r.ops[after].Return && o.Return <= r.ops[before].Call {
			return true
		}
	}
	return false
}

// leaseEnd returns the last instant at which the server can have kept a hold, as far as what was asked before operation i shows.
func (r *record) leaseEnd(i int, h *pageHold) int64 {
	op, a := r.ops[i], r.ops[h.acquire]
	last := a.Return // the latest earlier effect on it
	unsure := int64(0)
	for k, o := range r.ops {
		again := r.of[k] != nil && (o.Call >= a.Return || o.Outcome == history.OK) || o.Op == history.Acquire && o.Outcome == history.Unknown || r.pending(k, h)
		mine := r.of[k] == h || r.before[k] == h || r.h.Kind == history.Reentrant && again && o.Client == h.client
		if k == i || !mine || o.Call > op.Call || o.Op != history.Extend && o.Op != history.Acquire && o.Op != history.Release {
			continue
		}
		if o.Op == history.Release && r.of[k] == h { // its own release renews nothing
			continue
		}
		if (r.of[k] != h && r.before[k] != h || o.Outcome == history.Unknown) && o.Call >= a.Return && asked(o) > r.kept(last, unsure) { // it found nothing to renew
			continue
		}
		wrong := o.Op == history.Extend && o.Outcome == history.OK && o.Return > op.Call && o.Call > r.kept(last, unsure)
		if wrong { // it excuses none that was under way at the same time
			continue
		}
		if o.Outcome == history.OK {
			last = max(last, o.Return)
		}
		if o.Outcome == history.Unknown {
			unsure++
		}
	}
	if r.h.Lease == 0 {
		return always
	}
	return last + r.keep()*(1+unsure)
}

// overtaken reports whether a conflicting grant to another client, later than that of an operation's hold, had returned before it.
func (r *record) overtaken(i int) bool {
	op, h := r.ops[i], cmp.Or(r.before[i], r.of[i])
	if h == nil {
		return false
	}
	a := r.ops[h.acquire]
	for _, o := range r.ops {
		if o.Op != history.Acquire || o.Outcome != history.OK || o.Client == op.Client || r.h.Kind == history.Semaphore && r.h.Permits > 1 {
			continue
		}
		from := max(o.Call, o.Asked)
		if (o.Mode == history.Exclusive || h.mode == history.Exclusive) && o.Return+r.h.ClockError < op.Call && from > a.Return+r.h.ClockError {
			return true
		}
	}
	return false
}

// meansPending reports whether an operation may belong to another hold, which its client was being granted meanwhile.
func (r *record) meansPending(op history.Operation, h *pageHold) bool {
	exact := op.Token != "" && op.Token == h.token
	return slices.ContainsFunc(r.ops, func(o history.Operation) bool {
		pending := o.Op == history.Acquire && o.Outcome == history.OK && o.Client == op.Client && max(o.Call, o.Asked) <= op.Return && o.Call < max(op.Return, op.Call+1) && o.Return > op.Call && o.ID != r.ops[h.acquire].ID
		early := !named(op) || o.Mode == op.Mode
		return pending && (o.Token == op.Token && op.Token != "" || !exact && (o.Token == "" || op.Token == "") && early)
	})
}

// endsAnother reports whether a hold with another token that existed throughout an operation is shown to be gone before its lease can have ended.
func (r *record) endsAnother(i int) bool {
	op := r.ops[i]
	for _, v := range r.holds {
		if v == r.of[i] || r.of[i] != nil && r.of[i].token != "" && r.of[i].token == v.token {
			continue
		}
		for _, s := range v.spans {
			if s.from > op.Call || s.to < op.Return {
				continue
			}
			end, began := always, r.ops[s.op]
			if began.Op == history.Extend {
				began.Asked = 0 // means nothing
			}
			if r.h.Lease > 0 {
				end = max(began.Call, began.Asked) + r.h.Lease
			}
			next, refused, taken := always, false, always
			for k, o := range r.ops {
				switch {
				case o.Op == history.Use || o.Op == history.Write || o.Op == history.Lost || o.Return < op.Call:
				case r.of[k] == v && k != v.acquire && o.Call >= op.Call && o.Call < next:
					next, refused = o.Call, (o.Outcome == history.NotHeld || o.Outcome == history.LostHold) && o.Return < end
				case o.Op == history.Acquire && o.Outcome == history.OK && r.of[k] != v && o.Client != v.client && (o.Mode == history.Exclusive || v.mode == history.Exclusive) &&
					!(r.h.Kind == history.Semaphore && r.h.Permits > 1) && o.Return+r.h.ClockError < end && max(o.Call, o.Asked) > s.from:
					taken = min(taken, o.Return+r.h.ClockError)
				}
			}
			if refused || taken < next {
				return true
			}
		}
	}
	return false
}

// meantSince returns when the hold that an operation belongs to began; where an extend begins a new one, the hold before.
func (r *record) meantSince(i int) int64 {
	if h := r.before[i]; h != nil {
		return r.ops[h.acquire].Call
	}
	return r.since(i)
}

// forgiven reports whether a fault of a server, or if votes count of the client, may have kept or restored a hold since it began. One that came after
// the end of the lease and was over before the operation can't, unless it moved a clock.
func (r *record) forgiven(i int) bool {
	op, end := r.ops[i], int64(always)
	if h := cmp.Or(r.before[i], r.of[i]); h != nil {
		if at := r.leaseEnd(i, h); at < op.Call {
			end = at
		}
	}
	return slices.ContainsFunc(r.faults, func(w history.Window) bool {
		late := w.Start > end && last(w) < op.Call && !movesClock(w)
		return w.Confirmed && !late && (w.Client == "" || r.h.Votes && w.Client == op.Client) && r.met(w, r.meantSince(i), op.Return)
	})
}

// movesClock reports whether a fault may move the clock of a server.
func movesClock(w history.Window) bool { return w.Fault == "jump-clock" || w.Fault == "drift-clock" }

// restorable reports whether a fault that may keep or restore a hold is confirmed: a server's, or if votes count a client's.
func (r *record) restorable() bool {
	return slices.ContainsFunc(r.faults, func(w history.Window) bool { return w.Confirmed && (w.Client == "" || r.h.Votes) })
}
