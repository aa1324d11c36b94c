package checker

import (
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// ranOut reports whether the server can have ended the first hold by itself before the second was granted.
func (p *pair) ranOut() bool {
	end, ok := p.serverEnd()
	return ok && end <= p.to()
}

// serverEnd is the earliest instant at which the server can have ended the first hold: where both grants took the same Redis keys, the last of
// these to end. A client that holds several keys renews them one by one, and another may be granted enough of them while one has not ended.
func (p *pair) serverEnd() (end int64, ok bool) {
	shared := false
	for _, g := range p.second.grants {
		st := p.lastSet(func(st *step) bool { return samePlace(st, g) })
		if st == nil || p.gaveBack(st) {
			continue
		}
		at, ends := p.earliestEnd(st)
		if !ends {
			return 0, false
		}
		shared, end = true, max(end, at)
	}
	if shared {
		return end, true
	}
	if st := p.lastSet(func(*step) bool { return true }); st != nil {
		return p.earliestEnd(st)
	}
	return 0, false
}

// lastSet is the last step that set the lease of the first hold before the second grant, of those that are asked for; nil when there is none.
func (p *pair) lastSet(asked func(*step) bool) (last *step) {
	for i := range p.steps {
		if st := &p.steps[i]; p.sets(st) && st.Sent >= p.from() && st.Sent <= p.to() && asked(st) {
			last = st
		}
	}
	return last
}

// gaveBack reports whether the first client itself freed what it had set a lease for, of several keys that it held.
func (p *pair) gaveBack(set *step) bool {
	return slices.ContainsFunc(p.steps, func(st step) bool {
		return st.effect == effectFree && st.Client == p.first.client() && samePlace(&st, set) && set.Sent < st.Sent && st.Sent <= p.to()
	})
}

// samePlace reports whether two steps were on the same Redis key of the same node.
func samePlace(a, b *step) bool {
	return a.Node == b.Node && share(redisKeys(&a.Command), redisKeys(&b.Command))
}

// earliestEnd is the earliest instant at which a lease that a step set can have ended; it never ends when it is none.
func (p *pair) earliestEnd(set *step) (end int64, ok bool) {
	ttl := p.ttl(set)
	return p.countedFrom(set) + ttl, ttl > 0
}

// countedFrom is when a step's lease began at the earliest: when it was sent or, when the step sets the very time of the clients' clocks at which
// the key is to end that an earlier step of its client set on another key, when that one was sent. Such a time is cut off to what it is counted in.
func (p *pair) countedFrom(st *step) int64 {
	at := endingTime(st)
	if at == "" {
		return st.Sent
	}
	from := st.Sent
	for i := range p.steps {
		if g := &p.steps[i]; g.Client == st.Client && endingTime(g) == at {
			from = min(from, g.Sent)
		}
	}
	return from - countedIn(at)
}

// countedIn is the unit of a wall-clock time since 1970, in nanoseconds: its digits tell.
func countedIn(at string) int64 {
	switch {
	case len(at) <= len("9999999999"):
		return second
	case len(at) <= len("9999999999999"):
		return milli
	}
	return milli / 1000
}

// endingTime is the argument by which a step says when its key is to end, "" when it gives none.
func endingTime(st *step) string {
	for _, arg := range st.Args {
		if n, err := strconv.ParseInt(arg, 10, 64); err == nil && n >= epochFloor {
			return arg
		}
	}
	return ""
}

// sets reports whether a step set the lease of the first hold: its own grant or renewal, or the renewal of another that
// did not compare, and that has no hold of its own to renew.
func (p *pair) sets(st *step) bool {
	if st.Client == p.first.client() {
		return st.effect == effectLease || st.takes()
	}
	return st.effect == effectLease && st.during != history.Acquire && p.holdOf(st) == nil && !p.justGranted(st)
}

// justGranted reports whether a step's client had been granted the lock and was still to be told: a watchdog may be quicker than the call that
// started it.
func (s *scene) justGranted(st *step) bool {
	return slices.ContainsFunc(s.holds, func(h *hold) bool {
		return h.client() == st.Client && h.granted() <= st.Sent && st.Sent <= h.start()
	})
}

// byLease explains an overlap by the end of the first hold's lease. That its holder went on is lease-overrun, unless it
// had been renewing and stopped, or a clock deceived it.
func (p *pair) byLease() history.Cause {
	if !p.leaseOver() {
		return history.CauseUnknown
	}
	switch {
	case p.has(faultDriftClock) || p.believedTooLong() && p.skewed(p.first.client()):
		return history.ClockSkew
	case p.renewalsStopped():
		return history.RenewalGap
	}
	return history.LeaseOverrun
}

// byInnerRelease explains an overlap by the release of an entry within the first hold, made when the first's lease had ended: what the client was
// granted there was a hold of its own, and to give it back was to give back the lock.
func (p *pair) byInnerRelease() history.Cause {
	for _, h := range p.holds {
		inner := h.client() == p.first.client() && h.asked && h.start() > p.first.start() && h.release != nil && h.release.Call <= p.to()
		if !inner || len(h.grants) == 0 {
			continue
		}
		set := p.lastLease(h.client(), p.first.granted(), h.granted())
		if set != nil && set.Sent+p.ttl(set) <= h.grantedLatest() {
			p.culprit = h
			return history.LeaseOverrun
		}
	}
	return history.CauseUnknown
}

// leaseOver reports whether the first hold was over when the second was granted: by the server's count or, where no
// command shows it, by what its holder had been told.
func (p *pair) leaseOver() bool {
	if len(p.first.grants) > 0 || p.outer(p.first) != nil {
		return p.ranOut()
	}
	return p.first.until <= p.second.start()
}

// believedTooLong reports whether the first holder was told of a lease longer than the server's.
func (p *pair) believedTooLong() bool {
	return p.first.end() > p.second.start()
}

// renewalsStopped reports whether the first hold had been renewed by itself and then was not, while its client was
// neither paused nor dead.
func (p *pair) renewalsStopped() bool {
	end, ok := p.serverEnd()
	if !ok {
		end = p.first.until
	}
	return p.renewing(end) && !p.stalled(end)
}

// renewing reports whether the first holder tried to renew the hold, before its lease ended or too late, and not what it was granted anew after that.
func (p *pair) renewing(end int64) bool {
	anew := never
	for _, h := range p.holds {
		if h.client() == p.first.client() && len(h.grants) > 0 && h.granted() >= end {
			anew = min(anew, h.granted())
		}
	}
	return slices.ContainsFunc(p.first.renewals, func(r history.Operation) bool { return r.Call < anew })
}

// stalled reports whether the first client was kept from renewing around the end of its lease.
func (p *pair) stalled(end int64) bool {
	for i := range p.faults {
		w := &p.faults[i]
		if w.Client != p.first.client() || !w.Confirmed || w.Fault == faultSkewClient || w.Fault == faultSlowWork {
			continue
		}
		if w.Start <= end && w.Last() >= p.from() {
			return true
		}
	}
	return false
}
