package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// attribute names why a violation happened, from the commands and fault windows around it. It answers
// history.CauseUnknown rather than guess: each rule demands the command, or the measured window, that did it, or
// in a history that has neither the operation. What a variant is called plays no part.
//
// It looks at little of the record first, and at more of it while that does not tell.
//
// The rules of one family are in one file, cause_*.go. Within a family they are asked in the order in which they are
// listed, from what leaves a mark of its own to what is concluded because nothing else is left.
func attribute(v *Violation, ev *evidence) history.Cause {
	_, cause := investigate(v, ev)
	return cause
}

// investigate returns the cause together with the scene that shows it.
func investigate(v *Violation, ev *evidence) (s *scene, cause history.Cause) {
	margin := reach(v, ev)
	for range widenings {
		wider := sceneOf(v, ev, margin)
		if s != nil && len(wider.ops) == len(s.ops) && len(wider.steps) == len(s.steps) {
			break // there is no more to be seen
		}
		s = wider
		if cause = s.cause(v); cause != history.CauseUnknown && cause != history.NeverGranted { // who took it may have done so long before
			break
		}
		margin *= 8
	}
	return s, cause
}

// reach is how far around a violation is looked first: some leases, and less where the record is so dense that this would be more
// operations than a scene is made for.
func reach(v *Violation, ev *evidence) int64 {
	const probe = 5 * milli
	near := int64(len(ev.operations(v.Key, v.At-probe, plus(v.At, probe)))) + 1
	return min(max(4*ev.header.Lease, 2*second), max(sceneLimit*probe/near, milli))
}

// Bounds on how much of the record is looked at for one violation.
const (
	widenings  = 4
	sceneLimit = 20_000 // operations that the first look is made for
	meetings   = 256    // grants before damage among which its origin is looked for
)

// sceneOf arranges what lies within a margin of a violation and of the operations that show it.
func sceneOf(v *Violation, ev *evidence, margin int64) *scene {
	from, to := v.At, plus(v.At, v.Lasted)
	for _, op := range v.Operations {
		from, to = min(from, op.Call), max(to, op.Call)
	}
	return newScene(ev, v.Key, from-margin, plus(to, margin))
}

// cause dispatches by what was violated.
func (s *scene) cause(v *Violation) history.Cause {
	switch v.Property {
	case history.MutualExclusion:
		return s.overlapCause(v, (*hold).believed)
	case history.Linearizability:
		return s.orderCause(v)
	case history.ExclusiveUse:
		return s.overlapCause(v, (*hold).inUse)
	case history.StoreIntegrity:
		return s.damageCause(v)
	case history.ReleaseSafety:
		return s.wrongfulEndCause(v)
	case history.FencingOrder:
		return s.fenceCause(v)
	case history.Progress, history.Refusal, history.Hygiene:
		return s.stuckCause(v)
	case history.Reentrancy:
		return s.reentryCause(v)
	case history.Renewal:
		return s.renewalCause(v)
	}
	return history.CauseUnknown
}

// orderCause explains that the operations have no order, by which of the things that take it away is there: two holds at once, a
// fence that fell, a refusal of a free lock.
func (s *scene) orderCause(v *Violation) history.Cause {
	if cause := s.overlapCause(v, (*hold).believed); cause != history.CauseUnknown {
		return cause
	}
	if s.fenceFell(v.At) {
		return s.fenceCause(v)
	}
	return s.stuckCause(v)
}

// overlapCause explains two holds that were in force at once. What in force means is the property's affair.
func (s *scene) overlapCause(v *Violation, inForce func(*hold, int64) bool) history.Cause {
	current := s.inForce(v, inForce)
	if s.header.Kind == history.Semaphore {
		return s.tooManyCause(current)
	}
	for i, second := range current {
		for _, first := range current[:i] {
			if !conflict(first, second) {
				continue
			}
			if cause := s.pairCause(first, second); cause != history.CauseUnknown {
				return cause
			}
			s.reason = reason{first: first, second: second}
		}
	}
	return history.CauseUnknown
}

// tooManyCause explains that more holds were in force than there are permits, from the newest pair to the oldest. Some of them are rightly in
// force beside each other: that nothing ended one of two before the other was granted counts only when it is so of all.
func (s *scene) tooManyCause(current []*hold) history.Cause {
	granted := history.CauseUnknown
	var why reason
	for i, second := range slices.Backward(current) {
		for _, first := range current[:i] {
			if !conflict(first, second) {
				continue
			}
			switch cause := s.pairCause(first, second); cause {
			case history.CauseUnknown, history.DoubleGrant:
				if why.first == nil || granted == history.CauseUnknown {
					granted, why = cause, reason{first: first, second: second}
				}
			default:
				return cause
			}
		}
	}
	s.reason = why
	return granted
}

// inForce returns the holds of the violation's clients that were in force at its instant, by the time of their grant.
func (s *scene) inForce(v *Violation, inForce func(*hold, int64) bool) []*hold {
	var out []*hold
	for _, h := range s.holds {
		if slices.Contains(v.Clients, h.client()) && inForce(h, v.At) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b *hold) int { return compareGranted(a, b) })
	return out
}

func compareGranted(a, b *hold) int {
	switch {
	case a.granted() < b.granted():
		return -1
	case a.granted() > b.granted():
		return 1
	}
	return 0
}

// conflict reports whether two holds must not be in force at once. Of a semaphore any two may be the ones too many.
func conflict(a, b *hold) bool {
	return a.client() != b.client() && !(a.shared() && b.shared())
}

// maxChain bounds how many violations back a cause is followed: an overlap that came from an overlap that came from …
const maxChain = 64

// pairCause explains how second could be granted while first was held. It must be asked in the order of the grants, as far as that is
// known: by when they were asked for.
func (s *scene) pairCause(first, second *hold) history.Cause {
	return s.chainCause(first, second, maxChain)
}

// chainCause asks in the other order, too, when the first was asked for earlier and may have been granted later: its request was
// on its way for long.
func (s *scene) chainCause(first, second *hold, depth int) history.Cause {
	cause := s.orderedCause(first, second, depth)
	if cause == history.CauseUnknown && len(first.grants) > 0 && first.grantedLatest() > second.grantedLatest() {
		return s.orderedCause(second, first, depth)
	}
	return cause
}

func (s *scene) orderedCause(first, second *hold, depth int) history.Cause {
	if depth == 0 {
		return history.CauseUnknown
	}
	p := pair{scene: s, reason: reason{first: first, second: second}, depth: depth}
	for _, rule := range s.rules {
		if cause := rule(&p); cause != history.CauseUnknown {
			s.reason = p.reason
			return cause
		}
	}
	return history.CauseUnknown
}

// reason is what a cause was concluded from. Fields that play no part are nil.
type reason struct {
	first, second *hold           // the holds that met; first alone is the one that was wronged or lost
	culprit       *hold           // a third hold, without which it would not have happened
	step          *step           // the command that did it
	window        *history.Window // the fault that did it
}

// pair is two holds that came to overlap, in the order in which they were granted.
type pair struct {
	*scene
	reason
	depth int
}

// from is the earliest instant at which the first can have been granted, or what it rests on when its client went in again on its own count.
func (p *pair) from() int64 {
	if outer := p.outer(p.first); outer != nil {
		return outer.granted()
	}
	return p.first.granted()
}

// to is the latest instant at which the second can have been granted.
func (p *pair) to() int64 { return p.second.grantedLatest() }

// pairRule tells why a pair came about, or that it does not know.
type pairRule func(*pair) history.Cause

// pairRules are asked in order. A rule that is certain comes before a rule that only fits.
func pairRules() []pairRule {
	return []pairRule{
		(*pair).byQuorum,
		(*pair).byReentry,
		(*pair).byFreeing,
		(*pair).byServerFault,
		(*pair).byExtend,
		(*pair).byBlindGrant,
		(*pair).byLease,
		(*pair).byInnerRelease,
		(*pair).byLostReader,
		(*pair).byDelayedFreeing,
		(*pair).byOnlyFreeing,
		(*pair).byOwnDelayedRelease,
		(*pair).byServerClock,
		(*pair).byNothing,
		(*pair).byAcceptedRelease,
	}
}

// damageCause explains harm to the guarded store by the overlap of uses that it came from: the last before it was found, of the two
// clients that it names or else of one of them with another. A write that is stale though no uses met was made beside another's hold.
func (s *scene) damageCause(v *Violation) history.Cause {
	if cause := s.meetingCause(v, len(v.Clients)); cause != history.CauseUnknown {
		return cause
	}
	if cause := s.meetingCause(v, 1); cause != history.CauseUnknown {
		return cause
	}
	if cause := s.overlapCause(v, (*hold).believed); cause != history.CauseUnknown {
		return cause
	}
	return s.supersededCause(v)
}

// supersededCause explains a write under a hold that another's grant had followed, though that one was over again: how the other could be granted
// before the writer was done. A writer that has entered again may have lost the hold that it entered first.
func (s *scene) supersededCause(v *Violation) history.Cause {
	if len(v.Clients) != 2 {
		return history.CauseUnknown
	}
	for _, writer := range slices.Backward(s.holds) {
		open := writer.client() == v.Clients[1] && writer.start() <= v.At && (writer.release == nil || writer.release.Return >= v.At)
		if !open {
			continue
		}
		for _, other := range slices.Backward(s.holds) {
			switch followed := other.client() == v.Clients[0] && conflict(writer, other) && other.start() <= v.At; {
			case followed && writer.granted() < other.granted():
				return s.pairCause(writer, other)
			case followed && writer.start() < other.start(): // the reply to the other had been on its way for so long
				return s.pairCause(other, writer)
			}
		}
	}
	return history.CauseUnknown
}

// meetingCause explains the last overlap of uses before the violation in which as many as named of its clients took part.
func (s *scene) meetingCause(v *Violation, named int) history.Cause {
	var first, second *hold
	last := int64(-1)
	holds := slices.Clone(s.holds)
	slices.SortStableFunc(holds, compareGranted)
	holds = slices.DeleteFunc(holds, func(h *hold) bool { return h.granted() > v.At+v.Lasted })
	holds = holds[max(0, len(holds)-meetings):] // nobody waits longer with a write than this many grants
	for i, b := range holds {
		for _, a := range holds[:i] {
			if among(v.Clients, a, b) < named || !conflict(a, b) {
				continue
			}
			if at, met := usesMeet(a, b); met && at > last && at <= v.At+v.Lasted {
				first, second, last = a, b, at
			}
		}
	}
	if first == nil {
		return history.CauseUnknown
	}
	s.reason = reason{first: first, second: second}
	return s.pairCause(first, second)
}

// among counts the holds that belong to one of the clients.
func among(clients []string, holds ...*hold) (n int) {
	for _, h := range holds {
		if slices.Contains(clients, h.client()) {
			n++
		}
	}
	return n
}

// usesMeet returns the first instant at which two holds were both in use.
func usesMeet(a, b *hold) (int64, bool) {
	for _, ua := range a.uses {
		for _, ub := range b.uses {
			if ua.Call <= ub.Return && ub.Call <= ua.Return {
				return max(ua.Call, ub.Call), true
			}
		}
	}
	return 0, false
}
