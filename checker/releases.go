package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// The rules of release-safety about a release that leaves its own mark: an accepted one that did
// nothing, and a refused or failed one.

// releases is what is known of the holds and releases of a key so far.
type releases struct {
	tally
	marks   *marks
	there   []op   // what began the holds that may be there
	pending int    // grants that were called and have not returned
	grants  latest // by client: latest return of a grant
	answers latest // by client: latest return of a release
	useless op     // an accepted release that changed nothing, and no grant since
}

// restored reports whether a fault since the hold of an operation began may have kept or restored
// it: a server's; a client's only if votes count, as a lost message leaves nodes that disagree.
func (s *releases) restored(o *op) bool {
	client, from := s.d.a.client(o), s.d.since(o)
	return s.d.ev.loses(client, from) <= o.ret || s.d.a.header.Votes && s.d.ev.excused(client, from, o.ret)
}

// report reports an operation, or a background command, that changed what another holds.
func (s *releases) report(w wrong) {
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

// asked judges the last useless release when another client's try is refused by its mark.
func (s *releases) asked(o *op) {
	if o.granted() {
		s.pending--
	}
	u := s.useless
	if u.line == 0 || o.client == u.client {
		return
	}
	otherHold := s.pending > 0 || s.mayHold(max(o.call, u.ret), func(c *op) bool { return c.hold != u.hold })
	if !s.marks.excludes(u.hold) && otherHold || s.d.ghostFor(o) || !s.keptOut(o, &u) {
		return
	}
	s.useless = op{}
	s.found(Violation{At: u.call, Lasted: u.ret - u.call, Clients: s.d.names(*o, u)}, []op{u}, u, *o)
}

// keptOut reports whether an attempt of an acquire, which began after a release, was refused while
// the mark of the release's hold was there.
func (s *releases) keptOut(o, release *op) bool {
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

// left reports whether an accepted release did nothing to its hold's mark, which was there when it
// returned and belongs to no other hold of its client.
func (s *releases) left(o *op) bool {
	gone, known := s.marks.gone[o.hold]
	sole := s.marks.carries[o.hold] || len(s.marks.parts[o.hold]) > 0 && s.d.a.header.Kind == history.Mutex && s.d.k.holds.at(o.hold).token == 0
	nested := s.d.a.header.Kind == history.Reentrant && s.mayHold(o.call, func(c *op) bool { return c.client == o.client && c.hold != o.hold })
	return sole && !s.marks.did[o.line] && (!known || gone > o.ret) && !nested
}

// mayHold reports whether any of some holds may be there at an instant.
func (s *releases) mayHold(at int64, of func(began *op) bool) bool {
	return slices.ContainsFunc(s.there, func(c op) bool { return of(&c) && s.d.k.holds.at(c.hold).possible >= at })
}

// refused judges a release that was refused or failed.
func (s *releases) refused(o *op) {
	switch {
	case !s.d.wasCertain(o), o.saysGone() && s.d.a.header.Kind == history.Reentrant:
	case s.d.excusedHold(o):
		s.unjudged(1, metAFault)
	case o.outcome == history.Fail && len(s.d.ev.commandsOf(s.d.a.client(o), o.call, o.ret)) == 0: // it sent none
	case !s.still(o):
	case s.d.uses("refused-release"):
		s.denied(o)
	}
}

// still reports whether the hold of a release was there: by its mark, which the release may have
// taken away itself and deny it, or else because nobody else has been granted the lock or released
// it since.
func (s *releases) still(o *op) bool {
	began := s.d.k.began(o.hold)
	if s.marks != nil && len(s.marks.parts[o.hold]) > 0 {
		gone, known := s.marks.gone[o.hold]
		return !known || gone > o.ret || o.saysGone() && s.marks.did[o.line]
	}
	return s.answers.others(o.client) < began.call && (Permits(s.d.a.header) > 1 || s.grants.others(o.client) < began.call)
}
