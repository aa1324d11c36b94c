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
	writes
}

func newStoreIntegrity(d *keyInput) *storeIntegrity {
	n := d.k.count(history.Write, history.OK)
	return &storeIntegrity{tally: d.tallyOf(verdicts.StoreIntegrity, n > 0, "no accepted writes to a guarded store were recorded"),
		writes: writes{in: d, wrote: map[int64]int{}}}
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
	before, n := &prefix{s: &s.writes, reader: map[uint64]op{}}, 0
	for i := range accepted {
		o := &accepted[i]
		for ; n < len(order) && (versioned && n < i || !versioned && order[n].ret < o.call-s.d.a.header.ClockError); n++ {
			before.add(&order[n])
		}
		s.judge(o, before)
		before.read(o)
	}
	s.sum(accepted)
}

// judge judges a write by those that came before it.
func (s *storeIntegrity) judge(o *op, before *prefix) {
	if s.several(o) {
		return
	}
	earlier, flaw := s.flaw(o, before)
	read, known := s.readBy(o)
	switch {
	case flaw == NoFlaw && !known && s.of(o).valued:
		s.unjudged(1, valuesRepeat)
		return
	case flaw == NoFlaw:
		s.opportunity(o.call, o.ret)
		return
	case flaw != LostUpdate:
		s.lost.StaleWrites++
	}
	if known && before.reader[read].line != 0 { // a stale write may lose one, too
		s.lost.LostUpdates++
	}
	v := Violation{At: o.call, Lasted: o.ret - o.call, Clients: s.d.names(earlier, *o), Write: flaw}
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
	case o.hold != 0 && n.line != 0 && s.d.k.holds.at(o.hold).possible < o.call && s.askedFor(&n) > s.d.k.began(o.hold).ret &&
		Conflict(s.d.a.header.Kind, n.client == o.client, n.mode, o.mode) && s.d.uses("stale-write"):
		return n, StaleHold
	case earlier.line != 0 && s.d.uses("lost-update"):
		return earlier, LostUpdate
	}
	return earlier, NoFlaw
}
