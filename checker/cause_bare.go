package checker

import "github.com/lockbench/lockbench/history"

// byAcceptedRelease explains an overlap in a history without commands and without faults, such as another tool may have recorded: a client
// whose lease had run out released after the first was granted, its release was accepted, and then the second was let in. A release that
// ended the first hold accounts for both; otherwise the lock would have two defects, one that accepts a release for nothing and one
// that grants twice.
func (p *pair) byAcceptedRelease() history.Cause {
	if !p.bare() || p.first.shared() {
		return history.CauseUnknown
	}
	for _, late := range p.holds {
		if late.client() == p.first.client() || !acceptedLate(late, p.first) || late.release.Call > p.to() {
			continue
		}
		p.culprit = late
		return history.MisUnlock
	}
	return history.CauseUnknown
}

// bare reports whether operations are all that is known.
func (s *scene) bare() bool { return len(s.steps) == 0 && len(s.faults) == 0 }

// acceptedLate reports whether the release of one hold was accepted although its lease was over before another was granted, which was
// in force from the release's call to its return.
func acceptedLate(late, held *hold) bool {
	r := late.release
	return r != nil && r.Outcome == history.OK && late.until <= held.start() && held.start() <= r.Call && r.Return <= held.end()
}

// acceptedReleaseCause explains the release itself: it ended the wronged hold if somebody was let in while that was still believed.
func (s *scene) acceptedReleaseCause(wronged *hold) history.Cause {
	for _, next := range s.holds {
		p := pair{scene: s, reason: reason{first: wronged, second: next}}
		if next.client() != wronged.client() && wronged.believed(next.start()) && next.start() > wronged.start() {
			if cause := p.byAcceptedRelease(); cause != history.CauseUnknown {
				s.reason = p.reason
				return cause
			}
		}
	}
	return history.CauseUnknown
}
