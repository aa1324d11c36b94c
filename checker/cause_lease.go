package checker

import (
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// ranOut tells whether the server can have ended the first hold by itself before the second was granted.
func (p *pair) ranOut() bool {
	end, ok := p.serverEnd()
	return ok && end <= p.to()
}

// serverEnd is the earliest instant at which the server can have ended the first hold: the last lease set for
// it before the second grant, counted from when the command was sent.
func (p *pair) serverEnd() (int64, bool) {
	end, ok := int64(0), false
	for i := range p.steps {
		st := &p.steps[i]
		if !p.sets(st) || st.Sent < p.from() || st.Sent > p.to() {
			continue
		}
		end, ok = 0, false
		if ttl := p.ttl(st); ttl > 0 {
			end, ok = p.countedFrom(st)+ttl, true
		}
	}
	return end, ok
}

// countedFrom is when a step's lease began at the earliest: when it was sent or, when the step sets the very time of the clients' clocks at which
// the key is to end that an earlier step of its client set on another key, when that one was sent.
func (p *pair) countedFrom(st *step) int64 {
	at := endingTime(st)
	if at == "" {
		return st.Sent
	}
	for i := range p.steps {
		if g := &p.steps[i]; g.Client == st.Client && endingTime(g) == at {
			return min(g.Sent, st.Sent)
		}
	}
	return st.Sent
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

// sets tells whether a step set the lease of the first hold: its own grant or renewal, or the renewal of another that
// did not compare, and that has no hold of its own to renew.
func (p *pair) sets(st *step) bool {
	if st.Client == p.first.client() {
		return st.effect == effectLease || st.takes()
	}
	return st.effect == effectLease && st.during != history.Acquire && p.holdOf(st) == nil
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

// leaseOver tells whether the first hold was over when the second was granted: by the server's count or, where no
// command shows it, by what its holder had been told.
func (p *pair) leaseOver() bool {
	if len(p.first.grants) > 0 {
		return p.ranOut()
	}
	return p.first.until <= p.second.start()
}

// believedTooLong tells whether the first holder was told of a lease longer than the server's.
func (p *pair) believedTooLong() bool {
	return p.first.end() > p.second.start()
}

// renewalsStopped tells whether the first hold had been renewed by itself and then was not, while its client was
// neither paused nor dead.
func (p *pair) renewalsStopped() bool {
	end, ok := p.serverEnd()
	if !ok {
		end = p.first.until
	}
	return p.renewing() && !p.stalled(end)
}

// renewing tells whether the first holder tried to renew the hold, before the second was granted or too late.
func (p *pair) renewing() bool { return len(p.first.renewals) > 0 }

// stalled tells whether the first client was kept from renewing around the end of its lease.
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
