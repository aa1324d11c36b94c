package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
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
	releases
	wrongs map[uint32]wrong // by line of the operation: the first
}

func newReleaseSafety(d *keyInput) *releaseSafety {
	n := d.k.count(history.Release, history.OK, history.NotHeld, history.LostHold, history.Fail) + d.k.count(history.Extend, history.OK)
	s := &releaseSafety{wrongs: map[uint32]wrong{}, releases: releases{marks: d.follow(), grants: latest{most: 2}, answers: latest{most: 2},
		tally: d.tallyOf(verdicts.ReleaseSafety, n > 0 || d.ev.effects != nil, "nothing was released or extended")}}
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
	switch w, wrongful := s.wrongs[o.line]; {
	case wrongful && s.d.uses("another's-mark"):
		s.report(w)
	case o.outcome == history.OK && s.marks != nil && s.marks.unsure[o.line]:
		s.unjudged(1, metAFault)
	case o.kind == history.Release:
		s.release(o)
	case o.kind == history.Extend:
		s.extend(o)
	case o.kind == history.Acquire:
		s.asked(o)
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

func (s *releaseSafety) extend(o *op) {
	switch {
	case o.outcome != history.OK:
	case s.d.k.late[o.line] && s.restored(o):
		s.unjudged(1, metAFault)
	case s.d.k.late[o.line] && s.d.uses("late-extend"):
		s.found(Violation{At: o.call, Clients: s.d.names(*o)}, []op{*o}, *o)
	default:
		s.opportunity(o.call, o.ret)
	}
}

func (s *releaseSafety) release(o *op) {
	switch {
	case o.saysGone() || o.outcome == history.Fail:
		s.refused(o)
	case o.outcome != history.OK:
	case s.marks == nil && s.d.k.late[o.line] && s.restored(o):
		s.unjudged(1, metAFault)
	case s.marks == nil && s.d.k.late[o.line] && s.late(o):
	default:
		s.opportunity(o.call, o.ret)
		if s.marks != nil && o.hold != 0 && s.left(o) && s.d.uses("useless-release") {
			s.useless = *o
		}
	}
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
