package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
)

// releaseSafety: a release or an extend is about the client's own hold. It is broken if
//
//   - with effects: a release, an extend, whatever its reply, or a background command removed,
//     overwrote, shortened or prolonged the mark of a live hold with another token (of a re-entrant
//     lock: of another client; see marks.go),
//   - an extend was accepted although its hold was not possible when it was called,
//   - without effects: so was a release, and another's hold was certain throughout the call and is
//     shown to be gone before its certain end: its next reply says so, or a conflicting grant
//     returns first,
//   - a release of a hold that was certain throughout the call was refused, or failed although
//     requests of it were sent, and the mark was still there; without effects, and no other client
//     had released or been granted the lock since (of re-entrant locks, reentrancy judges the
//     refusals),
//   - with effects: a release was accepted and changed nothing of the mark, which has the hold's
//     token or is of a mutex without tokens, and then another try was refused while the mark was
//     there: by its reply, or because a later attempt of it was granted when the mark had gone.
//     Where several may hold, or the mark is on several nodes, no other hold may be possible then.
//
// The second and third are not judged where a fault since the hold began may have kept or restored
// it, the fourth where a fault met the hold. An opportunity is an accepted release or extend, one
// of those that were refused or failed and are judged, or a background command that changed a mark.
type releaseSafety struct {
	tally
	marks    *marks
	wrongs   map[uint32]wrong // by line of the operation: the first
	there    []op             // what began the holds that may be there
	pending  int              // grants that were called and have not returned
	grants   latest           // by client: latest return of a grant
	releases latest           // by client: latest return of a release
	until    latest           // by hold: until when it is possible
	useless  op               // an accepted release that changed nothing, and no grant since
}

func newReleaseSafety(d *keyInput) *releaseSafety {
	n := d.k.count(history.Release, history.OK, history.NotHeld, history.LostHold, history.Fail) + d.k.count(history.Extend, history.OK)
	s := &releaseSafety{tally: d.tallyOf(verdicts.ReleaseSafety, n > 0 || d.ev.effects != nil, "nothing was released or extended"),
		marks: d.follow(), wrongs: map[uint32]wrong{}, grants: latest{most: 2}, releases: latest{most: 2}, until: latest{most: 2}}
	if s.marks == nil {
		return s
	}
	for _, w := range s.marks.wrongs {
		if _, known := s.wrongs[w.by.line]; !known && w.by.line != 0 {
			s.wrongs[w.by.line] = w
		}
	}
	return s
}

func (s *releaseSafety) called(o *op) {
	if o.granted() {
		s.pending++
	}
}

func (s *releaseSafety) returned(o *op) {
	switch o.kind {
	case history.Release:
		s.release(o)
		s.releases.add(interval{owner: o.client, end: o.ret})
	case history.Extend:
		s.extend(o)
	case history.Acquire:
		s.asked(o)
	}
	if _, began := s.d.k.beliefEnd(o); began && s.d.k.holds.At(o.hold).began == o.place {
		s.begin(o)
	}
}

// begin notes a hold that began.
func (s *releaseSafety) begin(o *op) {
	kept := s.there[:0]
	for _, c := range s.there {
		if s.d.k.holds.At(c.hold).possible > o.call {
			kept = append(kept, c)
		}
	}
	s.there = append(kept, *o)
	s.grants.add(interval{owner: o.client, end: o.ret})
	s.until.add(interval{owner: o.hold, end: s.d.k.holds.At(o.hold).possible})
	s.useless = op{}
}

// asked looks for the release that left its mark, where a try is refused.
func (s *releaseSafety) asked(o *op) {
	if o.granted() {
		s.pending--
	}
	u := s.useless
	if u.line == 0 || o.client == u.client || !s.marks.excludes(u.hold) && s.othersMayHold(o, &u) || s.d.ghostFor(o) || !s.keptOut(o, &u) {
		return
	}
	s.useless = op{}
	s.found(Violation{At: u.call, Lasted: u.ret - u.call, Clients: s.d.names(o, &u)}, []op{u}, u, *o)
}

// othersMayHold reports whether a try after a release may have met a hold other than the release's.
func (s *releaseSafety) othersMayHold(o, release *op) bool {
	return s.pending > 0 || s.until.others(release.hold) >= max(o.call, release.ret)
}

// keptOut reports whether an attempt of an acquire, which began after a release, was refused while
// the mark of the release's hold was there.
func (s *releaseSafety) keptOut(o, release *op) bool {
	gone, known := s.marks.gone[release.hold]
	if o.outcome == history.Busy {
		return o.call >= release.ret && (!known || gone > o.ret)
	}
	if !known || !o.granted() || s.d.k.asked(o) < gone {
		return false
	}
	for _, c := range s.d.ev.commandsOf(s.d.a.client(o), max(o.call, release.ret), gone) {
		if c.Op == s.d.a.id(o.line) && resp.IsWrite(c.Name) && c.Replied != 0 && c.Replied < gone {
			return true
		}
	}
	return false
}

func (s *releaseSafety) extend(o *op) {
	switch w, wrongful := s.wrongs[o.line]; {
	case wrongful && s.d.uses("another's-mark"):
		s.report(w)
	case o.outcome != history.OK:
	case s.d.k.late[o.line] && s.restored(o):
		s.unjudged(1, metAFault)
	case s.d.k.late[o.line] && s.d.uses("late-extend"):
		s.found(Violation{At: o.call, Clients: s.d.names(o)}, []op{*o}, *o)
	default:
		s.opportunity(o.call, o.ret)
	}
}

func (s *releaseSafety) release(o *op) {
	w, wrongful := s.wrongs[o.line]
	switch {
	case wrongful && s.d.uses("another's-mark"):
		s.report(w)
	case o.saysGone() || o.outcome == history.Fail:
		s.refused(o)
	case o.outcome != history.OK:
	case s.marks == nil && s.d.k.late[o.line]:
		s.late(o)
	default:
		s.opportunity(o.call, o.ret)
		if s.marks != nil && o.hold != 0 && s.left(o) && s.d.uses("useless-release") {
			s.useless = *o
		}
	}
}

// left reports whether an accepted release changed nothing of its hold's mark, which was there when
// it returned, and its client has no other hold that may need it.
func (s *releaseSafety) left(o *op) bool {
	gone, known := s.marks.gone[o.hold]
	sole := s.marks.carries[o.hold] || len(s.marks.parts[o.hold]) > 0 && s.d.a.header.Kind == history.Mutex && s.d.k.holds.At(o.hold).token == 0
	return sole && !s.marks.did[o.line] && (!known || gone > o.ret) && !(s.d.a.header.Kind == history.Reentrant && s.nests(o))
}

// nests reports whether a client has another hold that may be there.
func (s *releaseSafety) nests(o *op) bool {
	for _, c := range s.there {
		if h := s.d.k.holds.At(c.hold); c.client == o.client && c.hold != o.hold && h.possible >= o.call {
			return true
		}
	}
	return false
}

// refused judges a release that was refused or failed.
func (s *releaseSafety) refused(o *op) {
	switch {
	case !s.d.wasCertain(o), o.saysGone() && s.d.a.header.Kind == history.Reentrant:
	case s.d.excusedHold(o):
		s.unjudged(1, metAFault)
	case o.outcome == history.Fail && !s.sent(o):
	case !s.still(o):
	case s.d.uses("refused-release"):
		s.denied(o)
	}
}

// sent reports whether requests of an operation were recorded.
func (s *releaseSafety) sent(o *op) bool {
	return len(s.d.ev.commandsOf(s.d.a.client(o), o.call, o.ret)) > 0
}

// still reports whether the hold of a release was there, as far as others are concerned.
func (s *releaseSafety) still(o *op) bool {
	began := s.d.k.began(o.hold)
	if s.marks != nil && len(s.marks.parts[o.hold]) > 0 {
		gone, known := s.marks.gone[o.hold]
		return !known || gone > o.ret
	}
	return s.releases.others(o.client) < began.call && (Permits(s.d.a.header) > 1 || s.grants.others(o.client) < began.call)
}

// restored reports whether a fault since the hold of an operation began may have kept or restored
// it: a server's; a client's only if votes count, as a lost message leaves nodes that disagree.
func (s *releaseSafety) restored(o *op) bool {
	client, from := s.d.a.client(o), s.d.since(o)
	return s.d.ev.loses(client, from) <= o.ret || s.d.a.header.Votes && s.d.ev.excused(client, from, o.ret)
}

// late judges an accepted release whose hold was not possible, of a record without effects.
func (s *releaseSafety) late(o *op) {
	if s.restored(o) {
		s.unjudged(1, metAFault)
		return
	}
	for _, c := range s.there {
		if h := s.d.k.holds.At(c.hold); c.hold != o.hold && !(h.token != 0 && h.token == o.token) && c.ret <= o.call && h.certain >= o.ret && s.endsEarly(&c, o) {
			if s.d.uses("mis-unlock") {
				s.report(wrong{c.hold, s.d.a.client(o), o.call, *o})
				return
			}
		}
	}
	s.opportunity(o.call, o.ret)
}

// endsEarly reports whether a hold that was certain during a release is shown to be gone before its
// certain end.
func (s *releaseSafety) endsEarly(v, release *op) bool {
	h := s.d.k.holds.At(v.hold)
	reply, taken := never, never // first answer to an operation of it, first conflicting grant
	gone := false
	for o := range s.d.k.overlapping(release.call, h.certain) {
		switch {
		case o.call < release.call || o.line == v.line || o.line == release.line:
		case o.hold == v.hold && (o.kind == history.Release || o.kind == history.Extend) && o.ret < reply:
			reply, gone = o.ret, o.saysGone() && o.ret <= h.certain
		case o.granted() && Permits(s.d.a.header) == 1 && Conflict(s.d.a.header.Kind, o.client == v.client, v.mode, o.mode):
			if by := plus(o.ret, s.d.a.header.ClockError); by < s.d.k.certainUntil(h) {
				taken = min(taken, by)
			}
		}
	}
	return gone || taken < reply
}

// report reports an operation, or a background command, that changed what another holds.
func (s *releaseSafety) report(w wrong) {
	began := s.d.k.began(w.victim)
	v := Violation{At: w.at, Clients: []string{s.d.a.client(&began), w.client}}
	if w.by.line == 0 {
		s.found(v, []op{began})
		return
	}
	v.At = w.by.call
	of := []op{began}
	if w.by.hold != 0 {
		of = append(of, s.d.k.began(w.by.hold))
	}
	s.found(v, of, w.by)
}

func (s *releaseSafety) done() {
	if s.marks == nil {
		return
	}
	wrongs := 0
	for _, w := range s.marks.wrongs {
		if w.by.line == 0 && s.d.uses("another's-mark") {
			s.report(w)
			wrongs++
		}
	}
	s.judged += max(0, s.marks.behind-wrongs)
}
