package checker

import "github.com/lockbench/lockbench/history"

// byExtend finds an extend that was granted after the lease of the hold it was for had ended. If the key was free it was
// made anew (resurrection); if another held it, that one's hold was changed (mis-unlock).
func (p *pair) byExtend() history.Cause {
	for _, h := range []*hold{p.first, p.second} {
		other := p.second
		if h == p.second {
			other = p.first
		}
		if st := p.lateExtend(h); st != nil {
			p.step = st
			return p.extendCause(st, other)
		}
	}
	return history.CauseUnknown
}

func (p *pair) extendCause(st *step, other *hold) history.Cause {
	held := len(other.grants) > 0 && other.grants[len(other.grants)-1].latest() < st.Sent
	if held && !st.takes() {
		return history.MisUnlock
	}
	return history.Resurrection
}

// lateExtend finds an extend of a hold, by the client or in the background, that the server granted when the
// lease set before had certainly ended.
func (s *scene) lateExtend(h *hold) *step {
	if len(h.grants) == 0 {
		return nil
	}
	for i := range s.steps {
		st := &s.steps[i]
		if st.Client != h.client() || st.Sent <= h.acquire.Return || st.during == history.Acquire || st.Sent > s.lastRenewal(h) {
			continue
		}
		if !st.takes() && st.effect != effectLease {
			continue
		}
		if end, ok := s.leaseEnd(h.client(), st.Sent); ok && end < st.Sent {
			return st
		}
	}
	return nil
}

// lastRenewal is the last instant at which a command can belong to a hold.
func (s *scene) lastRenewal(h *hold) int64 {
	if h.release != nil {
		return h.release.Call
	}
	for _, next := range s.holds {
		if next.client() == h.client() && next.acquire.Call > h.acquire.Call {
			return next.acquire.Call
		}
	}
	return never
}

// renewalCause explains a hold that a watchdog lost, a renewal after the release, or the renewal of another's hold.
func (s *scene) renewalCause(v *Violation) history.Cause {
	if len(v.Clients) == 0 {
		return history.CauseUnknown
	}
	if len(v.Clients) > 1 {
		return s.renewedAnother(v)
	}
	if st := s.renewedAfterRelease(v); st != nil {
		s.reason = reason{first: s.latestHold(st.Client, st.Sent), step: st}
		return s.strayRenewal(st)
	}
	h := s.latestHold(v.Clients[0], v.At)
	if h == nil {
		return history.CauseUnknown
	}
	end := &hold{acquire: history.Operation{Return: v.At, Call: v.At}}
	p := pair{scene: s, reason: reason{first: h, second: end}, depth: 1}
	defer func() {
		s.reason = p.reason
		s.reason.second = nil // it was made up
	}()
	for _, rule := range [...]func(*pair) history.Cause{(*pair).byFreeing, (*pair).byServerFault, (*pair).byLease} {
		if cause := rule(&p); cause != history.CauseUnknown {
			return cause
		}
	}
	return history.CauseUnknown
}

// renewedAnother explains an extend that was accepted while another client held, by a later grant.
func (s *scene) renewedAnother(v *Violation) history.Cause {
	other, own := s.latestHold(v.Clients[0], v.At), s.latestHold(v.Clients[1], v.At)
	if other == nil || own == nil {
		return history.CauseUnknown
	}
	p := pair{scene: s, reason: reason{first: own, second: other}, depth: 1}
	defer func() { s.reason = p.reason }()
	if cause := p.byExtend(); cause != history.CauseUnknown {
		return cause
	}
	return p.byLease()
}

// renewedAfterRelease finds a renewal of the first client that was sent after it had released and was granted, at or
// before the instant of the violation.
func (s *scene) renewedAfterRelease(v *Violation) *step {
	for i := range s.steps {
		st := &s.steps[i]
		if st.Client != v.Clients[0] || st.during == history.Acquire || !st.takes() && st.effect != effectLease {
			continue
		}
		h := s.latestHold(st.Client, st.Sent)
		if h != nil && h.release != nil && h.release.Return < st.Sent && st.Sent <= v.At+v.Lasted {
			return st
		}
	}
	return nil
}

// strayRenewal says what a renewal did that no hold of its client stands behind.
func (s *scene) strayRenewal(st *step) history.Cause {
	for _, h := range s.holds {
		if h.client() != st.Client && h.granted() < st.Sent && st.Sent < h.end() {
			return history.MisUnlock
		}
	}
	if st.takes() {
		return history.Resurrection
	}
	return history.CauseUnknown
}

// latestHold is the last hold that a client was granted before an instant.
func (s *scene) latestHold(client string, at int64) *hold {
	var last *hold
	for _, h := range s.holds {
		if h.client() == client && h.start() <= at {
			last = h
		}
	}
	return last
}
