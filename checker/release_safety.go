package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
)

// releaseSafety: a release or an extend is about the client's own hold. It is broken if
//
//   - with effects: a release or extend, whatever its reply, or a background command removed,
//     overwrote, shortened or prolonged the mark of a live hold with another token (of a re-entrant
//     lock: of another client; see marks.go),
//   - an extend was accepted although its hold was not possible when it was called,
//   - without effects: so was a release, and another's hold was certain throughout the call and is
//     shown to be gone before its certain end: its next reply says so, or a conflicting grant
//     returns first,
//   - a release of a hold that was certain throughout the call was refused, or failed although
//     requests of it were sent, and the mark was still there, or a refused one removed it; without
//     effects, and no other client had released or been granted the lock since (of re-entrant
//     locks, reentrancy judges the refusals),
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
	marks   *marks           // nil: the record has no effects
	wrongs  map[uint32]wrong // by line of the operation: the first
	there   []op             // what began the holds that may be there
	pending int              // grants that were called and have not returned
	grants  latest           // by client: latest return of a grant
	answers latest           // by client: latest return of a release
	useless op               // an accepted release that changed nothing, and no grant since
}

func newReleaseSafety(d *keyInput) *releaseSafety {
	n := d.k.count(history.Release, history.OK, history.NotHeld, history.LostHold, history.Fail) + d.k.count(history.Extend, history.OK)
	s := &releaseSafety{tally: d.tallyOf(verdicts.ReleaseSafety, n > 0 || d.ev.effects != nil, "nothing was released or extended"),
		marks: d.follow(), wrongs: map[uint32]wrong{}, grants: latest{most: 2}, answers: latest{most: 2}}
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
	late := o.outcome == history.OK && s.d.k.late[o.line]
	switch w, wrongful := s.wrongs[o.line]; {
	case wrongful && s.d.uses("another's-mark"):
		s.report(w)
	case o.outcome == history.OK && s.marks != nil && s.marks.unsure[o.line]:
		s.unjudged(metAFault)
	case o.kind == history.Acquire:
		s.asked(o)
	case o.kind == history.Release && (o.saysGone() || o.outcome == history.Fail):
		s.refused(o)
	case o.outcome != history.OK || o.kind != history.Release && o.kind != history.Extend:
	case late && (s.marks == nil || o.kind == history.Extend) && s.restored(o):
		s.unjudged(metAFault)
	case late && o.kind == history.Extend && s.d.uses("late-extend"):
		s.found(Violation{At: o.call, Clients: s.d.names(*o)}, []op{*o}, *o)
	case late && o.kind == history.Release && s.marks == nil && s.endedAnothers(o):
	default:
		s.opportunity(o.call, o.ret)
		if o.kind == history.Release && s.marks != nil && o.hold != 0 && s.left(o) && s.d.uses("useless-release") {
			s.useless = *o
		}
	}
	if o.kind == history.Release {
		s.answers.add(interval{owner: o.client, end: o.ret})
	}
	if _, began := s.d.k.beliefEnd(o); !began || s.d.k.holds.at(o.hold).began != o.place {
		return
	}
	s.there = slices.DeleteFunc(s.there, func(c op) bool { return s.d.k.holds.at(c.hold).possible <= o.call })
	s.there = append(s.there, *o)
	s.grants.add(interval{owner: o.client, end: o.ret})
	s.useless = op{}
}

// restored reports whether a fault since the hold of an operation began may have kept or restored
// it: a server's; a client's only if votes count, as a lost message leaves nodes that disagree.
func (s *releaseSafety) restored(o *op) bool {
	client, from := s.d.a.client(o), s.d.since(o)
	return s.d.ev.loses(client, from) <= o.ret || s.d.a.header.Votes && s.d.ev.excused(client, from, o.ret)
}

// report reports an operation, or a background command, that changed what another holds.
func (s *releaseSafety) report(w wrong) {
	began := s.d.k.began(w.victim)
	v := Violation{At: w.at, Clients: []string{s.d.a.client(&began), w.client}}
	if w.by.line == 0 {
		s.found(v, []op{began})
		return
	}
	of := []op{began}
	if w.by.hold != 0 {
		of = append(of, s.d.k.began(w.by.hold))
	}
	s.found(v, of, w.by)
}

// asked judges the last useless release when another client's try is refused by its mark: by its
// reply, or in an attempt that began after the release and was answered before the mark had gone.
func (s *releaseSafety) asked(o *op) {
	if o.granted() {
		s.pending--
	}
	u := s.useless
	if u.line == 0 || o.client == u.client {
		return
	}
	parts := s.marks.parts[u.hold]
	several := slices.ContainsFunc(parts, func(p part) bool { return p.node != parts[0].node }) || // nodes, or holders
		manyMayHold(s.d.a.header, s.d.k.began(u.hold).mode)
	otherHold := s.pending > 0 || s.mayHold(max(o.call, u.ret), func(c *op) bool { return c.hold != u.hold })
	if several && otherHold || s.d.ghostFor(o) {
		return
	}
	gone, known := s.marks.gone[u.hold]
	keptOut := o.outcome == history.Busy && o.call >= u.ret && (!known || gone > o.ret)
	if known && o.granted() && s.d.k.asked(o) >= gone {
		keptOut = slices.ContainsFunc(s.d.ev.commandsOf(s.d.a.client(o), max(o.call, u.ret), gone), func(c history.Command) bool {
			return c.Op == s.d.a.id(o.line) && resp.IsWrite(c.Name) && c.Replied != 0 && c.Replied < gone
		})
	}
	if keptOut {
		s.useless = op{}
		s.found(Violation{At: u.call, Lasted: u.ret - u.call, Clients: s.d.names(*o, u)}, []op{u}, u, *o)
	}
}

// left reports whether an accepted release did nothing to its hold's mark, which was there when it
// returned and belongs to no other hold of its client.
func (s *releaseSafety) left(o *op) bool {
	gone, known := s.marks.gone[o.hold]
	sole := s.marks.carries[o.hold] || len(s.marks.parts[o.hold]) > 0 && s.d.a.header.Kind == history.Mutex && s.d.k.holds.at(o.hold).token == 0
	nested := s.d.a.header.Kind == history.Reentrant && s.mayHold(o.call, func(c *op) bool { return c.client == o.client && c.hold != o.hold })
	return sole && !s.marks.did[o.line] && (!known || gone > o.ret) && !nested
}

// mayHold reports whether any of some holds may be there at an instant.
func (s *releaseSafety) mayHold(at int64, of func(began *op) bool) bool {
	return slices.ContainsFunc(s.there, func(c op) bool { return of(&c) && s.d.k.holds.at(c.hold).possible >= at })
}

// refused judges a release that was refused or failed: whether its hold was there, by its mark,
// which the release may have taken away itself and deny it, or else because nobody else has been
// granted the lock or released it since.
func (s *releaseSafety) refused(o *op) {
	switch {
	case !s.d.wasCertain(o), o.saysGone() && s.d.a.header.Kind == history.Reentrant:
		return
	case s.d.excusedHold(o):
		s.unjudged(metAFault)
		return
	case o.outcome == history.Fail && len(s.d.ev.commandsOf(s.d.a.client(o), o.call, o.ret)) == 0: // it sent none
		return
	}
	since := s.d.k.began(o.hold).call
	there := s.answers.others(o.client) < since && (Permits(s.d.a.header) > 1 || s.grants.others(o.client) < since)
	if s.marks != nil && len(s.marks.parts[o.hold]) > 0 {
		gone, known := s.marks.gone[o.hold]
		there = !known || gone > o.ret || o.saysGone() && s.marks.did[o.line]
	}
	if there && s.d.uses("refused-release") {
		s.denied(o)
	}
}

// endedAnothers reports an accepted release whose hold was not possible, of a record without
// effects, if a hold of another that was certain during it is shown to be gone before its certain
// end.
func (s *releaseSafety) endedAnothers(o *op) bool {
	for _, c := range s.there {
		h := s.d.k.holds.at(c.hold)
		certain := c.hold != o.hold && c.ret <= o.call && h.certain >= o.ret && (h.token == 0 || h.token != o.token)
		if certain && s.endsEarly(&c, o) && s.d.uses("mis-unlock") {
			s.report(wrong{c.hold, s.d.a.client(o), o.call, *o})
			return true
		}
	}
	return false
}

// endsEarly reports whether a hold that was certain during a release is shown to be gone before its
// certain end.
func (s *releaseSafety) endsEarly(v, release *op) bool {
	h := s.d.k.holds.at(v.hold)
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
