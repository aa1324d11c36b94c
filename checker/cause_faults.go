package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// The names of the faults that a cause can rest on. The vocabulary is the package faults', which this one must not
// import; a test of the whole program holds the two together.
const (
	faultSkewClient  = "skew-client"
	faultSlowWork    = "slow-work"
	faultDriftClock  = "drift-clock"
	faultJumpClock   = "jump-clock"
	faultKillServer  = "kill-server"
	faultFailover    = "failover"
	faultCrashClient = "crash-client"
	faultPauseClient = "pause-client"
	faultLoseReply   = "lose-reply"
	faultLoseRequest = "lose-request"
	faultDeleteKey   = "delete-key"
	faultEvictKeys   = "evict-keys"
)

// causeOf maps the faults that take a key from a server before its time to the cause they are.
func causeOf(fault string) (history.Cause, bool) {
	switch fault {
	case faultKillServer:
		return history.RestartLoss, true
	case faultFailover:
		return history.FailoverLoss, true
	case faultJumpClock:
		return history.ClockJump, true
	case faultDriftClock:
		return history.ClockSkew, true
	case faultDeleteKey, faultEvictKeys: // a release by one who is not the holder
		return history.MisUnlock, true
	}
	return history.CauseUnknown, false
}

// byServerFault finds a fault that took the first hold's key from a node between the two grants. It cannot be the
// reason when the second grant did not ask whether the key was there, nor when the key was to end by then anyway.
func (p *pair) byServerFault() history.Cause {
	if p.grantedBlindly() || p.ranOut() {
		return history.CauseUnknown
	}
	last, at := history.CauseUnknown, int64(-1)
	for i := range p.faults {
		w := &p.faults[i]
		cause, ok := causeOf(w.Fault)
		if ok && w.Confirmed && p.grantedOn(w.Node) && p.strikes(w) && w.Start > at {
			last, at, p.window = cause, w.Start, w
		}
	}
	return last
}

// byServerClock explains a key that the server ended early: the client sent the time at which it was to end, and the server's
// clock had been set before.
func (p *pair) byServerClock() history.Cause {
	if !p.byClientClock(p.first) {
		return history.CauseUnknown
	}
	for i := range p.faults {
		w := &p.faults[i]
		if w.Fault == faultJumpClock && w.Confirmed && p.grantedOn(w.Node) && w.Start <= p.to() {
			p.window = w
			return history.ClockJump
		}
	}
	return history.CauseUnknown
}

// strikes reports whether a fault fell between the two grants. A clock does harm at the instants at which it jumps,
// which are the edges of its window; a server that is away, from its end to its return.
func (p *pair) strikes(w *history.Window) bool {
	inside := func(at int64) bool { return p.from() <= at && at <= p.to() }
	if w.Fault == faultJumpClock {
		return inside(w.Start) || w.End != 0 && inside(w.End)
	}
	return w.Start <= p.to() && w.Last() >= p.from()
}

// grantedOn reports whether the first hold rested on a node. Without commands it may have.
func (p *pair) grantedOn(node int) bool {
	if node < 0 || len(p.first.grants) == 0 {
		return true
	}
	for _, g := range p.first.grants {
		if g.Node == node {
			return true
		}
	}
	return p.failedOver()
}

// failedOver reports whether a replica was promoted before the second was granted: the one server that answers since is known to the clients by the
// number of the one before it.
func (p *pair) failedOver() bool {
	return slices.ContainsFunc(p.faults, func(w history.Window) bool { return w.Fault == faultFailover && w.Confirmed && w.Start <= p.to() })
}

// has reports whether a fault of this name was confirmed between the two grants.
func (p *pair) has(fault string) bool {
	for i := range p.faults {
		w := &p.faults[i]
		if w.Fault == fault && w.Confirmed && w.Start <= p.to() && w.Last() >= p.from() {
			return true
		}
	}
	return false
}

// skewed reports whether a client's wall clock was off in the time of the pair.
func (p *pair) skewed(client string) bool {
	for i := range p.faults {
		w := &p.faults[i]
		if w.Fault == faultSkewClient && w.Confirmed && w.Client == client && w.Start <= p.to() && w.Last() >= p.from() {
			return true
		}
	}
	return false
}

// crashed returns the instant at which a client died.
func (s *scene) crashed(client string) (int64, bool) {
	for i := range s.faults {
		if w := &s.faults[i]; w.Fault == faultCrashClient && w.Client == client && w.Confirmed {
			return w.Start, true
		}
	}
	return 0, false
}

// dropLost takes from a step whose request is known to have been lost, before it reached the server, the effect that it may have had: the last
// that its client sent to the node before the fault, and that no reply was seen of.
func (s *scene) dropLost(w *history.Window) {
	if w.Fault != faultLoseRequest || !w.Confirmed {
		return
	}
	for i := len(s.steps) - 1; i >= 0; i-- {
		st := &s.steps[i]
		if st.Client != w.Client || st.Sent > w.Start || w.Node >= 0 && st.Node != w.Node {
			continue
		}
		if st.Replied == 0 {
			st.effect = effectNone
		}
		return
	}
}

// fenceFell reports whether a grant that returned at an instant came with a fence no higher than one before.
func (s *scene) fenceFell(at int64) bool {
	highest := uint64(0)
	for _, h := range s.holds {
		if h.start() == at && h.acquire.Fence != 0 && h.acquire.Fence <= highest {
			return true
		}
		highest = max(highest, h.acquire.Fence)
	}
	return false
}

// fenceCause explains a fence that did not grow: the counter went with the server's data or with the lock's keys, or two grants had the same
// standing.
func (s *scene) fenceCause(v *Violation) history.Cause {
	for i := len(s.faults) - 1; i >= 0; i-- {
		w := &s.faults[i]
		cause, _ := causeOf(w.Fault)
		counter := cause == history.RestartLoss || cause == history.FailoverLoss || cause == history.MisUnlock
		if counter && w.Confirmed && w.Start <= v.At {
			s.reason = reason{window: w}
			return cause
		}
	}
	return s.overlapCause(v, (*hold).believed)
}
