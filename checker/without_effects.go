package checker

import "github.com/lockbench/lockbench/history"

// The rule of release-safety about another's hold, for a record without effects.

// late reports an accepted release whose hold was not possible, of a record without effects, if it
// is shown to have ended another's hold.
func (s *releases) late(o *op) bool {
	for _, c := range s.there {
		if h := s.d.k.holds.at(c.hold); c.hold != o.hold && !(h.token != 0 && h.token == o.token) && c.ret <= o.call && h.certain >= o.ret && s.endsEarly(&c, o) {
			if s.d.uses("mis-unlock") {
				s.report(wrong{c.hold, s.d.a.client(o), o.call, *o})
				return true
			}
		}
	}
	return false
}

// endsEarly reports whether a hold that was certain during a release is shown to be gone before its
// certain end.
func (s *releases) endsEarly(v, release *op) bool {
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
