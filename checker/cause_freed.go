package checker

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// byFreeing finds the command of another client that took the first hold's key away between the two grants.
// mis-unlock and reader-evicted leave this mark.
func (p *pair) byFreeing() history.Cause {
	for i := range p.steps {
		f := &p.steps[i]
		if f.effect != effectFree || f.implied || f.Client == p.first.client() || !p.between(f) || !p.concerns(f) {
			continue
		}
		if cause := p.freedBy(f); cause != history.CauseUnknown {
			p.step, p.culprit = f, p.lastHoldBefore(f)
			return cause
		}
	}
	return history.CauseUnknown
}

// lastHoldBefore is the last hold that the sender of a step was granted before it, other than the two of the pair.
func (p *pair) lastHoldBefore(st *step) *hold {
	if h := p.latestHold(st.Client, st.Sent); h != p.first && h != p.second {
		return h
	}
	return nil
}

// between reports whether a step can have taken effect after the first grant and before the second.
func (p *pair) between(s *step) bool {
	after := p.first.acquire.Call
	if n := len(p.first.grants); n > 0 {
		after = p.first.grants[0].Sent
	}
	return s.latest() >= after && s.Sent <= p.to()
}

// concerns reports whether a step was on a key that the first hold rests on. Readers and writers may keep keys of their
// own: there, only a call of the same mode touches the same one.
func (p *pair) concerns(s *step) bool {
	if s.during == history.Release && p.header.Kind == history.RW && s.mode != p.first.acquire.Mode {
		return false
	}
	return p.onGrantedKeys(s)
}

func (p *pair) onGrantedKeys(s *step) bool {
	for _, g := range p.first.grants {
		if samePlace(g, s) {
			return true
		}
	}
	return len(p.first.grants) == 0
}

func share(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// freedBy says what it means that f took the first hold's key away. A client that was itself holding, by its own
// lights, was let in beside the first hold before: then that is where it began.
func (p *pair) freedBy(f *step) history.Cause {
	own := p.holdOf(f)
	switch {
	case own == nil && p.ownMark(f):
		return history.CauseUnknown // its belief had ended, or it gave back what was not enough for a grant
	case own == nil && p.first.shared() && f.mode == history.Shared:
		return history.ReaderEvicted
	case own == nil:
		return history.MisUnlock
	case p.first.shared() && own.shared():
		if f.wholeKey() {
			return history.ReaderEvicted
		}
		return history.CauseUnknown // the caller's own part of the key, as it should be
	case p.outlived(own, f):
		return history.MisUnlock
	case p.first.grantedLatest() > f.Sent && !f.wholeKey() && p.ownMark(f):
		return history.CauseUnknown // it gave back its own, and the first was granted after that
	case p.header.Kind == history.Semaphore || p.header.Kind == history.RW && !f.wholeKey():
		return history.CauseUnknown
	}
	return p.chainBack(own, f)
}

// chainBack follows an overlap to the earlier one between the first hold and the hold that freed it. Where the chain is lost, its last
// link stands: one client deleted what was another's.
func (p *pair) chainBack(own *hold, f *step) history.Cause {
	a, b := p.first, own
	if compareGranted(a, b) > 0 {
		a, b = b, a
	}
	if b == p.second || a.end() <= b.start() {
		if p.takenFrom(own, f) || f.wholeKey() && (p.ranOutUnder(own, f) || p.gone(own)) || p.leaseOverBefore(f) {
			return history.MisUnlock
		}
		return history.CauseUnknown // each held in its own time, and this was the end of the freeing client's own hold
	}
	if cause := p.chainCause(a, b, p.depth-1); cause != history.CauseUnknown {
		return cause
	}
	return history.MisUnlock
}

// ownMark reports whether a key that is one holder's alone was still its own client's when f deleted it: nobody had taken it since, and the
// lease, counted from the last reply, had not ended.
func (p *pair) ownMark(f *step) bool {
	switch p.header.Kind {
	case history.Semaphore:
		return p.takesBack(f)
	case history.RW:
		return false
	}
	var taken, leased *step
	for i := range p.steps {
		g := &p.steps[i]
		if g.Sent >= f.Sent || !samePlace(g, f) {
			continue
		}
		if g.takes() && !p.elsewhen(g, taken, f) {
			taken, leased = g, g
		} else if taken != nil && deleted(taken, g) {
			taken = nil
		} else if g.effect == effectLease && taken != nil && g.Client == taken.Client {
			leased = g
		}
	}
	if taken == nil || taken.Client != f.Client || taken.effect != effectCreate { // a blind write leaves the hold before it in doubt
		return false
	}
	ttl := p.ttl(leased)
	return ttl == noLease || p.servedFrom(f) < plus(leased.latest(), ttl)
}

// servedFrom is the earliest instant at which a server can have run a step: when it was sent, or when the server went on that was stopped then.
func (s *scene) servedFrom(st *step) int64 {
	from := st.Sent
	for i := range s.faults {
		if w := &s.faults[i]; w.Fault == faultStop && w.Confirmed && w.Node == st.Node && w.Start <= from && from <= w.Last() {
			from = w.Last()
		}
	}
	return from
}

// deleted reports whether g took the key away that another client had taken before, without comparing.
func deleted(taken, g *step) bool {
	return g.effect == effectFree && g.wholeKey() && g.Client != taken.Client && g.Sent >= taken.latest()
}

// takesBack reports whether a step gave back, within the acquire that took it, a permit whose lease, counted from the last reply, had not ended.
func (p *pair) takesBack(f *step) bool {
	if f.during != history.Acquire {
		return false
	}
	for i := len(p.steps) - 1; i >= 0; i-- {
		g := &p.steps[i]
		asked := g.Client == f.Client && g.Node == f.Node && g.Sent < f.Sent && g.during == history.Acquire && g.role() == history.Acquire
		if asked && !strings.HasPrefix(g.Reply, "-") {
			return f.Sent < plus(g.latest(), p.ttl(g))
		}
	}
	return false
}

// elsewhen reports whether a step by which another took the key on the condition that it was free can have been before f's client took
// it with own, which was under way until the lease that the step began had ended, or after f, beside which it ran. A delete that does not compare
// proves nothing of whose key it was.
func (s *scene) elsewhen(g, own, f *step) bool {
	if g.effect != effectCreate || g.Client == f.Client || s.nothingToLease(g, f) {
		return false
	}
	ttl := s.ttl(g)
	before := !f.wholeKey() && own != nil && own.Client == f.Client && own.effect == effectCreate && ttl != noLease && plus(g.Sent, ttl) <= own.latest()
	return before || g.latest() >= f.Sent
}

// nothingToLease reports whether the client that took the key with g was told, before f was over, that there is no key to give a lease to: f deleted it, then.
func (s *scene) nothingToLease(g, f *step) bool {
	return slices.ContainsFunc(s.steps, func(st step) bool {
		lease := st.Name == "EXPIRE" || st.Name == "PEXPIRE"
		return lease && st.Client == g.Client && st.Node == g.Node && st.Reply == "0" && st.Sent >= g.latest() && st.latest() <= f.latest()
	})
}

// outlived reports whether a writer's release of a read-write lock removed something when its own lease had ended: then it was the next
// writer's.
func (p *pair) outlived(own *hold, f *step) bool {
	return p.header.Kind == history.RW && !own.shared() && !p.first.shared() && own != p.second && p.leaseOverBefore(f)
}

// leaseOverBefore reports whether the lease of the client that freed had certainly ended when the first asked. What it freed
// afterwards, having stalled or waited on the network, was not its own.
func (p *pair) leaseOverBefore(f *step) bool {
	end, ok := p.leaseEnd(f.Client, f.Sent)
	return ok && end <= p.first.granted()
}

// takenFrom reports whether another had begun to delete a hold's key before its own client deleted a key: of two deletes that both found
// one, the later found another's.
func (p *pair) takenFrom(own *hold, f *step) bool {
	if len(own.grants) == 0 {
		return false
	}
	granted := own.grants[len(own.grants)-1].latest()
	for i := range p.steps {
		g := &p.steps[i]
		if g.effect == effectFree && g.wholeKey() && g.Client != f.Client && g.Node == f.Node && g.Sent >= granted && g.Sent <= f.Sent {
			return true
		}
	}
	return false
}

// gone reports whether a fault took a hold's key from the server before the first was granted, who was the next to take it.
func (p *pair) gone(own *hold) bool {
	return slices.ContainsFunc(p.faults, func(w history.Window) bool {
		_, takes := causeOf(w.Fault)
		struck := takes && w.Confirmed && own.granted() <= w.Start && w.Last() <= p.first.grantedLatest()
		return struck && !p.takenSince(w.Start, own.client())
	})
}

// takenSince reports whether anybody but a client and the first holder took the key after an instant and before the first was granted.
func (p *pair) takenSince(since int64, client string) bool {
	return slices.ContainsFunc(p.steps, func(st step) bool {
		return st.takes() && since <= st.Sent && st.Sent < p.first.granted() && st.Client != client && st.Client != p.first.client()
	})
}

// ranOutUnder reports whether a hold's lease ended on the server before the first was granted, while a delete of its own client
// was still on its way: a server that was stopped found both in its queue, and what was deleted was the first's.
func (p *pair) ranOutUnder(own *hold, f *step) bool {
	if len(p.first.grants) == 0 || own.granted() > p.first.granted() {
		return false
	}
	set := p.lastLease(own.client(), own.granted(), f.Sent)
	if set == nil {
		return false
	}
	end := set.Sent + p.ttl(set)
	return end <= p.first.grants[len(p.first.grants)-1].latest() && end <= f.latest()
}

// holdOf finds the hold that a client believed in, up to the release, when it sent a step.
func (s *scene) holdOf(st *step) *hold {
	for _, h := range s.holds {
		if h.client() == st.Client && h.start() <= st.Sent && st.Sent < h.until && (h.lost == 0 || st.Sent < h.lost) &&
			(h.release == nil || st.Sent <= h.release.Return) {
			return h
		}
	}
	return nil
}

// byLostReader explains a writer that came in beside a reader: of locks that keep one mark for all readers, another
// reader's acquire wrote over the mark, or its release took it away. Both may answer without a sign of it, so
// this is concluded when nothing else is left; and where the other reader had come first, when the one left found its mark gone: most that
// came before leave in the right way.
func (p *pair) byLostReader() history.Cause {
	if !p.first.shared() || p.second.shared() {
		return history.CauseUnknown
	}
	for _, h := range p.holds {
		other := h != p.first && h.shared() && h.client() != p.first.client()
		if other && h.release != nil && h.release.Call <= p.to() && (h.granted() >= p.from() || p.first.foundGone() && h.release.Return >= p.from()) {
			p.culprit = h
			return history.ReaderEvicted
		}
	}
	return history.CauseUnknown
}

// foundGone reports whether the holder learnt within its lease that it held no more: from an extend, or from its release.
func (h *hold) foundGone() bool {
	return h.lost > 0 && h.lost <= h.until || h.release != nil && h.release.Outcome == history.NotHeld && h.release.Return <= h.until
}

// byOnlyFreeing explains an overlap by a delete of another client that found a key, and may have found its own: the first's key was gone when the
// second was granted, its lease had not ended, and nothing else that is recorded can have taken it.
func (p *pair) byOnlyFreeing() history.Cause {
	oneMark := p.header.Kind == history.Mutex || p.header.Kind == history.Reentrant
	if !oneMark || len(p.first.grants) == 0 || p.ranOut() || p.grantedBlindly() {
		return history.CauseUnknown
	}
	return p.byDelete(effectFree)
}

// byDelayedFreeing explains an overlap by an unconditional DEL that no reply was seen of: it can have arrived at any
// time after it was sent, and nothing else is left that could have taken the key away.
func (p *pair) byDelayedFreeing() history.Cause { return p.byDelete(effectMaybe) }

// byDelete explains an overlap by the first delete of a whole key, with this effect, that another client sent between the two grants.
func (p *pair) byDelete(e effect) history.Cause {
	for i := range p.steps {
		f := &p.steps[i]
		if f.effect == e && f.wholeKey() && f.Client != p.first.client() && p.between(f) && p.concerns(f) {
			p.step, p.culprit = f, p.lastHoldBefore(f)
			return history.MisUnlock
		}
	}
	return history.CauseUnknown
}

// byOwnDelayedRelease explains an overlap by a release of the first client itself that was sent before its grant, on another connection,
// and that no reply was seen of: a client that gives up waiting for it and asks again under the same token is granted, and then
// the release arrives and ends that grant.
func (p *pair) byOwnDelayedRelease() history.Cause {
	for _, g := range p.first.grants {
		for i := range p.steps {
			f := &p.steps[i]
			own := f.effect == effectMaybe && f.Client == g.Client && f.Conn != g.Conn && f.Node == g.Node && f.Sent < g.Sent
			if own && f.role() == history.Release && p.onGrantedKeys(f) && shareToken(f, g) {
				p.step, p.culprit = f, p.first
				return history.AmbiguousReply
			}
		}
	}
	return history.CauseUnknown
}

// shareToken reports whether two commands name the same token, which is any word beside their keys.
func shareToken(a, b *step) bool {
	for _, word := range a.Args[min(len(a.Args), 1):] {
		if len(word) >= tokenLength && !slices.Contains(redisKeys(&a.Command), word) && slices.Contains(b.Args, word) {
			return true
		}
	}
	return false
}

// tokenLength is more than any number, name or option that a lock sends has.
const tokenLength = 16

// wrongfulEndCause explains a release or extend that ended or changed the hold of another: the command that did it is one
// that the second client's call sent.
func (s *scene) wrongfulEndCause(v *Violation) history.Cause {
	from, to := s.callAt(v)
	wronged := s.wronged(v, to)
	if wronged == nil {
		return history.CauseUnknown
	}
	for i := range s.steps {
		f := &s.steps[i]
		if f.Client == wronged.client() || f.latest() < from || f.Sent > to || !changes(f) {
			continue
		}
		s.reason = reason{first: wronged, step: f, culprit: s.latestHold(f.Client, f.Sent)}
		if wronged.shared() && f.mode == history.Shared {
			return history.ReaderEvicted
		}
		return history.MisUnlock
	}
	return s.acceptedReleaseCause(wronged)
}

// callAt returns the time of the second client's call that a violation is about, or else the violation's own.
func (s *scene) callAt(v *Violation) (from, to int64) {
	for _, op := range s.ops {
		ends := op.Op == history.Release || op.Op == history.Extend
		if ends && len(v.Clients) > 1 && op.Client == v.Clients[1] && op.Call <= v.At && v.At <= op.Return {
			return op.Call, op.Return
		}
	}
	return v.At, plus(v.At, v.Lasted)
}

// wronged is the hold of the violation's first client that was in force at some instant from the violation to another.
func (s *scene) wronged(v *Violation, to int64) *hold {
	for _, h := range s.holds {
		if len(v.Clients) > 0 && h.client() == v.Clients[0] && h.granted() <= to && (v.At <= h.end() || h.inUse(v.At)) {
			return h
		}
	}
	return nil
}

// changes reports whether a step ended a hold or moved its end.
func changes(s *step) bool {
	return s.effect == effectFree && !s.implied || s.effect == effectLease || s.effect == effectOverwrite && s.during != history.Acquire
}
