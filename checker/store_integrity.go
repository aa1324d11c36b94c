package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// storeIntegrity: the guarded store shows no lost update and has accepted no stale write. A write
// is broken if
//
//   - it was accepted with a fence below that of an earlier one,
//   - its hold was not possible when it was called, and an earlier write is of a hold that was
//     asked for after its own was granted, or
//   - it read the same version of the store as an earlier one: what that wrote is lost.
//
// Earlier is the one that made a lower version of the store; where the store counts none, the one
// that had returned before the other was called, beyond the clock error if they are two clients'.
// Without versions the values serve: two writes that read one value, which was written once at
// most, lost one. Where it was written more often, a lost update is not judged.
//
// An opportunity is an accepted write under an exclusive hold or under none.
type storeIntegrity struct {
	tally
	writes []op          // accepted ones, and those of unknown outcome
	wrote  map[int64]int // by value: how often it was written, for all that is known
	lost   damaged
}

type damaged struct {
	known bool
	Damage
}

func newStoreIntegrity(d *keyInput) *storeIntegrity {
	n := d.k.count(history.Write, history.OK)
	return &storeIntegrity{tally: d.tallyOf(verdicts.StoreIntegrity, n > 0, "no accepted writes to a guarded store were recorded"), wrote: map[int64]int{}}
}

func (s *storeIntegrity) called(o *op) {
	if o.kind != history.Write || o.outcome != history.OK && o.outcome != history.Unknown {
		return
	}
	s.writes = append(s.writes, *o)
	if w := s.of(o); w.valued {
		s.wrote[w.wrote]++
	}
}

// of returns what a write has beside its record.
func (s *storeIntegrity) of(o *op) *write { return s.d.k.writes.At(o.detail) }

// versioned reports whether the store counted the versions of all accepted writes.
func (s *storeIntegrity) versioned(accepted []op) bool {
	return !slices.ContainsFunc(accepted, func(o op) bool { return !s.of(&o).versioned() })
}

func (s *storeIntegrity) done() {
	accepted := slices.DeleteFunc(slices.Clone(s.writes), func(o op) bool { return o.outcome != history.OK })
	if s.versioned(accepted) {
		slices.SortStableFunc(accepted, func(x, y op) int { return cmp.Compare(s.of(&x).version, s.of(&y).version) })
		before := newPrefix(s)
		for i := range accepted {
			s.judge(&accepted[i], before, before)
			before.add(&accepted[i])
		}
	} else {
		s.byTime(accepted)
	}
	slices.SortStableFunc(s.kept, byTime)
	s.sum(accepted)
}

// byTime judges the writes in order of their calls, each against those that had returned.
func (s *storeIntegrity) byTime(accepted []op) {
	returned := slices.SortedStableFunc(slices.Values(accepted), func(x, y op) int { return cmp.Compare(x.ret, y.ret) })
	certain, likely := newPrefix(s), newPrefix(s)
	c, l := 0, 0
	for i := range accepted {
		o := &accepted[i]
		for ; l < len(returned) && returned[l].ret < o.call; l++ {
			likely.add(&returned[l])
		}
		for ; c < len(returned) && returned[c].ret < o.call-s.d.a.header.ClockError; c++ {
			certain.add(&returned[c])
		}
		s.judge(o, certain, likely)
		certain.read(o)
		if likely != certain {
			likely.read(o)
		}
	}
}

// prefix has what is needed of the writes before another.
type prefix struct {
	s      *storeIntegrity
	fence  op            // that with the highest fence
	newest op            // that whose hold was asked for last
	reader map[uint64]op // by what they read: those under an exclusive hold or none
}

func newPrefix(s *storeIntegrity) *prefix { return &prefix{s: s, reader: map[uint64]op{}} }

func (p *prefix) add(o *op) {
	s := p.s
	if f := s.of(o).fence; f != 0 && (p.fence.line == 0 || f > s.of(&p.fence).fence) {
		p.fence = *o
	}
	if o.hold != 0 && (p.newest.line == 0 || s.askedFor(o) > s.askedFor(&p.newest)) {
		p.newest = *o
	}
	if s.of(o).versioned() {
		p.read(o)
	}
}

// read notes what a write has read.
func (p *prefix) read(o *op) {
	if read, known := p.s.readBy(o); known && !p.s.several(o) {
		if _, again := p.reader[read]; !again {
			p.reader[read] = *o
		}
	}
}

// readBy returns what a write has read, as a version or a value; known is false if that does not
// tell which write it followed.
func (s *storeIntegrity) readBy(o *op) (read uint64, known bool) {
	w := s.of(o)
	if w.versioned() {
		return w.readVersion, true
	}
	return uint64(w.read), w.valued && s.wrote[w.read] <= 1
}

// askedFor returns the earliest instant at which the hold of a write can have been granted.
func (s *storeIntegrity) askedFor(o *op) int64 {
	began := s.d.k.op(s.d.k.holds.At(o.hold).began)
	return s.d.k.asked(&began)
}

// several reports whether a write is under a hold of which several may exist at once.
func (s *storeIntegrity) several(o *op) bool {
	return o.hold != 0 && manyMayHold(s.d.a.header, s.d.k.op(s.d.k.holds.At(o.hold).began).mode)
}

// judge judges a write by those that certainly came before it, and by those that did by exact
// clocks.
func (s *storeIntegrity) judge(o *op, certain, likely *prefix) {
	if s.several(o) {
		return
	}
	earlier, flaw := s.flaw(o, certain)
	within := false
	if flaw == NoFlaw {
		earlier, flaw = s.flaw(o, likely)
		within = flaw != NoFlaw && flaw != LostUpdate && earlier.client != o.client
	}
	if _, known := s.readBy(o); flaw == NoFlaw {
		if !known && s.of(o).valued {
			s.unjudged(1, valuesRepeat)
			return
		}
		s.opportunity(o.call, o.ret)
		return
	}
	if flaw != LostUpdate {
		s.lost.StaleWrites++
	}
	if read, known := s.readBy(o); known && certain.reader[read].line != 0 { // a stale write may lose one, too
		s.lost.LostUpdates++
	}
	v := Violation{At: o.call, Lasted: o.ret - o.call, Clients: s.d.names(&earlier, o), Write: flaw, WithinClockError: within}
	s.found(v, []op{earlier, *o}, earlier, *o)
}

// flaw returns what is wrong with a write after others, and after which.
func (s *storeIntegrity) flaw(o *op, before *prefix) (earlier op, flaw writeFlaw) {
	fence, n := s.of(o).fence, before.newest
	if read, known := s.readBy(o); known {
		earlier = before.reader[read]
	}
	switch {
	case fence != 0 && before.fence.line != 0 && fence < s.of(&before.fence).fence && s.d.uses("stale-fence"):
		return before.fence, StaleFence
	case o.hold != 0 && n.line != 0 && s.d.k.holds.At(o.hold).possible < o.call && s.askedFor(&n) > s.granted(o) && s.d.uses("stale-write"):
		return n, StaleHold
	case earlier.line != 0 && s.d.uses("lost-update"):
		return earlier, LostUpdate
	}
	return earlier, NoFlaw
}

// granted returns when the hold of a write began.
func (s *storeIntegrity) granted(o *op) int64 {
	return s.d.k.ret(s.d.k.at(s.d.k.holds.At(o.hold).began))
}

// sum adds up what the store should hold. A write of unknown outcome counts if what it wrote was
// read, or is there at the end, and no other wrote it.
func (s *storeIntegrity) sum(accepted []op) {
	ends := s.d.opt.Store[s.d.k.name]
	reads := map[int64]bool{}
	if ends.Final != nil {
		reads[*ends.Final] = true
	}
	for i := range accepted {
		reads[s.of(&accepted[i]).read] = true
	}
	d := &s.lost
	for i := range s.writes {
		w := s.of(&s.writes[i])
		if !w.valued || s.writes[i].outcome == history.Unknown && (!reads[w.wrote] || s.wrote[w.wrote] > 1) {
			continue
		}
		if !d.known {
			d.known, d.Expected = true, w.read
		}
		d.Expected += w.wrote - w.read
	}
	if ends.Initial != nil && d.known && len(s.writes) > 0 {
		d.Expected += *ends.Initial - s.of(&s.writes[0]).read
	}
	if len(accepted) > 0 {
		d.Final = s.of(&accepted[len(accepted)-1]).wrote
	}
	if ends.Final != nil {
		d.Final = *ends.Final
	}
	d.Missing = d.Expected - d.Final
}

// damage returns what the store lost; nil if that is not known.
func (s *storeIntegrity) damage() *Damage {
	if !s.lost.known {
		return nil
	}
	d := s.lost.Damage // a copy: the verdict must not keep the record in memory
	return &d
}
