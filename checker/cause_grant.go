package checker

import (
	"math"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// byQuorum finds a grant on fewer nodes than a majority of those that were asked in the run.
func (p *pair) byQuorum() history.Cause {
	nodes := p.nodes()
	if nodes < 3 || p.has(faultFailover) { // after a failover the one node that answers has another number
		return history.CauseUnknown
	}
	for _, h := range []*hold{p.first, p.second} {
		if h.asked && confirmed(h) < nodes/2+1 {
			return history.QuorumErosion
		}
	}
	return history.CauseUnknown
}

// nodes counts the nodes on which some acquire was tried.
func (s *scene) nodes() int {
	seen := map[int]bool{}
	for i := range s.steps {
		if s.steps[i].during == history.Acquire {
			seen[s.steps[i].Node] = true
		}
	}
	return len(seen)
}

// confirmed counts the nodes that granted a hold.
func confirmed(h *hold) int {
	seen := map[int]bool{}
	for _, g := range h.grants {
		seen[g.Node] = true
	}
	return len(seen)
}

// byReentry finds a grant for which nobody asked the server: the client took it from its own count, after
// the lease that the count stood for had ended.
func (p *pair) byReentry() history.Cause {
	for _, two := range [][2]*hold{{p.first, p.second}, {p.second, p.first}} {
		if p.stale(two[0]) || p.overtaken(two[0], two[1]) {
			p.culprit = two[0]
			return history.StaleReentry
		}
	}
	if p.beliefEnded() && p.wentInAgain() {
		return history.StaleReentry
	}
	return history.CauseUnknown
}

// beliefEnded reports whether what the first was told when it was granted had ended before the second was granted, so that
// only what came after can have kept its belief up.
func (p *pair) beliefEnded() bool {
	end := until(p.header, &p.first.acquire)
	if p.first.acquire.ValidUntil == 0 && len(p.first.grants) > 0 {
		end = p.first.grants[0].Sent + p.header.Lease
	}
	return end <= p.second.start()
}

// wentInAgain reports whether the first client went in again, on its own count, while the second held.
func (p *pair) wentInAgain() bool {
	for _, h := range p.holds {
		again := h != p.first && h.client() == p.first.client() && h.start() >= p.first.start() && h.start() < p.second.end()
		if again && (p.stale(h) || p.overtaken(h, p.second)) {
			p.culprit = h
			return true
		}
	}
	return false
}

// stale reports whether a hold was taken without asking, when the client's lease had certainly ended.
func (s *scene) stale(h *hold) bool {
	if h.asked {
		return false
	}
	end, ok := s.leaseEnd(h.client(), h.acquire.Call)
	return ok && end <= h.acquire.Return
}

// overtaken reports whether a hold was taken without asking, when the client's lease may have ended and the server had granted the other, on the
// condition that nobody held the lock: so it had ended.
func (s *scene) overtaken(h, other *hold) bool {
	outer := s.outer(h)
	if outer == nil {
		return false
	}
	if o := s.outer(other); o != nil {
		other = o
	}
	created := len(other.grants) > 0 && !slices.ContainsFunc(other.grants, func(g *step) bool { return g.effect != effectCreate })
	set := s.lastLease(h.client(), outer.granted(), other.granted())
	return created && set != nil && set.Sent+s.ttl(set) <= other.grantedLatest() && other.grantedLatest() <= h.acquire.Call
}

// outer is the hold, asked for and granted, on which a hold rests that its client took without asking; nil when it asked.
func (s *scene) outer(h *hold) (outer *hold) {
	if h.asked {
		return nil
	}
	for _, o := range s.holds {
		if o.client() == h.client() && len(o.grants) > 0 && o.start() <= h.acquire.Call && (outer == nil || o.start() > outer.start()) {
			outer = o
		}
	}
	return outer
}

// leaseEnd is the latest instant at which the server can have ended what a client took or extended before an
// instant. Not known when the client set no lease.
func (s *scene) leaseEnd(client string, before int64) (int64, bool) {
	set := s.lastLease(client, math.MinInt64, before)
	if set == nil {
		return 0, false
	}
	return set.Replied + s.ttl(set) + expiryGrain, true
}

// expiryGrain is how long a key may live on after its time. Redis counts it in milliseconds, lets the key live through the one in which it ends,
// and reads its clock once for a whole round of requests.
const expiryGrain = 2 * milli

// lastLease is the last step with a reply that a client set a lease with, sent from an instant on and before another; nil when there is none.
func (s *scene) lastLease(client string, from, before int64) (last *step) {
	for i := range s.steps {
		st := &s.steps[i]
		sets := st.takes() || st.effect == effectLease
		if sets && st.Client == client && from <= st.Sent && st.Sent < before && st.Replied != 0 && s.ttl(st) > 0 {
			last = st
		}
	}
	return last
}

// ttl is the lease that a step set; the header's, when its arguments do not show it.
func (s *scene) ttl(st *step) int64 {
	if st.ttl == unknownLease {
		return s.header.Lease
	}
	return st.ttl
}

// grantedBlindly reports whether the second grant took the key without asking whether it was there.
func (p *pair) grantedBlindly() bool {
	for _, g := range p.second.grants {
		if g.effect == effectOverwrite {
			return true
		}
	}
	return false
}

// byBlindGrant explains a grant that did not ask the server whether the lock was free in the same command: SET without
// NX, or GETSET on the word of the client's own clock.
func (p *pair) byBlindGrant() history.Cause {
	if !p.grantedBlindly() || p.ranOut() {
		return history.CauseUnknown
	}
	if p.byClientClock(p.second) && (p.skewed(p.second.client()) || p.skewed(p.first.client())) {
		return history.ClockSkew
	}
	return history.DoubleGrant
}

// byClientClock reports whether a grant was decided by a time that the client sent along.
func (p *pair) byClientClock(h *hold) bool {
	return slices.ContainsFunc(h.grants, func(g *step) bool { return endingTime(g) != "" })
}

// epochFloor is below every wall-clock time since 1999, counted in seconds or in anything smaller, and above
// every lease and count that a lock sends.
const epochFloor = 915_000_000

// byNothing concludes from what is not there. Nothing freed the key, it had not run out, no fault struck, and still the
// script that decides granted it twice. That takes one owner id for two, or a lock that keeps more than one mark. In any
// other lock something is missing from the record.
func (p *pair) byNothing() history.Cause {
	if len(p.first.grants) == 0 || len(p.second.grants) == 0 || p.ranOut() {
		return history.CauseUnknown
	}
	second := p.second.grants[0]
	if !second.script() {
		return history.CauseUnknown
	}
	if p.byClientClock(p.second) && (p.skewed(p.second.client()) || p.skewed(p.first.client())) {
		return history.ClockSkew
	}
	marks := p.header.Kind == history.RW || p.header.Kind == history.Semaphore
	if marks || sameOwner(p.first.grants[0], second) {
		return history.DoubleGrant
	}
	return history.CauseUnknown
}

// sameOwner reports whether two scripts were called with the same arguments for the same keys: the same owner id.
func sameOwner(a, b *step) bool {
	words := 0
	for i, arg := range a.Args {
		if i >= len(b.Args) || b.Args[i] != arg {
			return false
		}
		if _, err := strconv.ParseFloat(arg, 64); err != nil {
			words++
		}
	}
	return words > 1+len(redisKeys(&a.Command)) // more than the script's name and its keys
}

// reentryCause explains a wrong count, owner or lease of a re-entrant lock.
func (s *scene) reentryCause(v *Violation) history.Cause {
	for _, h := range s.holds {
		near := len(v.Clients) > 0 && h.client() == v.Clients[0] && h.acquire.Call <= v.At && v.At <= h.start()
		if near && s.stale(h) {
			s.reason = reason{first: h, culprit: h}
			return history.StaleReentry
		}
	}
	if cause := s.overlapCause(v, (*hold).believed); cause != history.CauseUnknown {
		return cause
	}
	return s.wrongfulEndCause(v)
}
