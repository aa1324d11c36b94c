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
//   - its hold was not possible when it was called, and an earlier write is of a hold that
//     conflicts with it and was asked for after its own was granted, or
//   - it read the same version of the store as an earlier one: what that wrote is lost.
//
// Of two writes the earlier made the lower version of the store; where no versions were recorded,
// it had returned before the other was called, beyond the clock error. Then values tell of lost
// updates: two writes that read the same value, which was written once at most, lost one. If it was
// written more often, that is not judged.
//
// An opportunity is an accepted write under an exclusive hold or under none.
type storeIntegrity struct {
	tally
	all   []op          // writes that were accepted, and those of unknown outcome
	wrote map[int64]int // by value: how often it was written, for all that is known
	lost  Damage
}

func newStoreIntegrity(d *keyInput) *storeIntegrity {
	n := d.k.count(history.Write, history.OK)
	return &storeIntegrity{tally: d.tallyOf(verdicts.StoreIntegrity, n > 0, "no accepted writes to a guarded store were recorded"), wrote: map[int64]int{}}
}

func (s *storeIntegrity) called(o *op) {
	if o.kind != history.Write || o.outcome != history.OK && o.outcome != history.Unknown {
		return
	}
	s.all = append(s.all, *o)
	if w := s.of(o); w.valued {
		s.wrote[w.wrote]++
	}
}

// of returns what a write has beside its record.
func (s *storeIntegrity) of(o *op) *write { return s.d.k.writes.at(o.detail) }

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
	began := s.d.k.began(o.hold)
	return s.d.k.asked(&began)
}

// prefix sums up the writes that are earlier than another.
type prefix struct {
	fence  op            // that with the highest fence
	newest op            // that whose hold was asked for last
	reader map[uint64]op // by what they read: the first under an exclusive hold or none
}

func (s *storeIntegrity) done() {
	accepted := slices.DeleteFunc(slices.Clone(s.all), func(o op) bool { return o.outcome != history.OK })
	versioned := !slices.ContainsFunc(accepted, func(o op) bool { return !s.of(&o).versioned() })
	order := slices.Clone(accepted) // in which they are earlier than others
	slices.SortStableFunc(order, func(x, y op) int {
		if versioned {
			return cmp.Compare(s.of(&x).version, s.of(&y).version)
		}
		return cmp.Compare(x.ret, y.ret)
	})
	if versioned {
		accepted = order
	}
	before, n := &prefix{reader: map[uint64]op{}}, 0
	for i := range accepted {
		o := &accepted[i]
		for ; n < len(order) && (versioned && n < i || !versioned && order[n].ret < o.call-s.d.a.header.ClockError); n++ {
			x := &order[n]
			if f := s.of(x).fence; f != 0 && (before.fence.line == 0 || f > s.of(&before.fence).fence) {
				before.fence = *x
			}
			if x.hold != 0 && (before.newest.line == 0 || s.askedFor(x) > s.askedFor(&before.newest)) {
				before.newest = *x
			}
		}
		if o.hold != 0 && manyMayHold(s.d.a.header, s.d.k.began(o.hold).mode) {
			continue
		}
		s.judge(o, before)
		if read, known := s.readBy(o); known {
			if _, again := before.reader[read]; !again {
				before.reader[read] = *o
			}
		}
	}
	s.sum(accepted)
}

// judge judges a write by those that came before it.
func (s *storeIntegrity) judge(o *op, before *prefix) {
	read, known := s.readBy(o)
	var earlier op // the first write that read the same
	if known {
		earlier = before.reader[read]
	}
	losing := earlier.line != 0 // a stale write may lose one, too
	fence, n, flaw := s.of(o).fence, before.newest, NoFlaw
	switch {
	case fence != 0 && before.fence.line != 0 && fence < s.of(&before.fence).fence && s.d.uses("stale-fence"):
		earlier, flaw = before.fence, StaleFence
	case o.hold != 0 && n.line != 0 && s.d.k.holds.at(o.hold).possible < o.call && s.askedFor(&n) > s.d.k.began(o.hold).ret &&
		Conflict(s.d.a.header.Kind, n.client == o.client, n.mode, o.mode) && s.d.uses("stale-write"):
		earlier, flaw = n, StaleHold
	case losing && s.d.uses("lost-update"):
		flaw = LostUpdate
	case !known && s.of(o).valued:
		s.unjudged(valuesRepeat)
		return
	default:
		s.opportunity(o.call, o.ret)
		return
	}
	if flaw != LostUpdate {
		s.lost.StaleWrites++
	}
	if losing {
		s.lost.LostUpdates++
	}
	v := Violation{At: o.call, Lasted: o.ret - o.call, Clients: s.d.names(earlier, *o), Write: flaw}
	s.found(v, []op{earlier, *o}, earlier, *o)
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
	d, known := s.lost, false
	for i := range s.all {
		w := s.of(&s.all[i])
		if !w.valued || s.all[i].outcome == history.Unknown && (!reads[w.wrote] || s.wrote[w.wrote] > 1) {
			continue
		}
		if !known {
			known, d.Expected = true, w.read
		}
		d.Expected += w.wrote - w.read
	}
	if !known {
		return
	}
	if ends.Initial != nil {
		d.Expected += *ends.Initial - s.of(&s.all[0]).read
	}
	if len(accepted) > 0 {
		d.Final = s.of(&accepted[len(accepted)-1]).wrote
	}
	if ends.Final != nil {
		d.Final = *ends.Final
	}
	d.Missing = d.Expected - d.Final
	s.damage = &d
}
