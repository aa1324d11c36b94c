package checker

import (
	"math"

	"github.com/lockbench/lockbench/history"
)

// A hold is seen in three intervals, all of which start when the client learns of it or asks for
// it:
//
//	belief    what the client was told: from the return of the acquire to the first of: the call of
//	          its release, a loss told, the return of a refused extend, its confirmed crash, until.
//	          Until is the latest valid-until of the acquire and its ok extends; asked + lease − drift
//	          for one that has none. An extend that returns after until leaves a gap.
//	certain   a correct server had it: from the return of the acquire to the first of: the call of its
//	          release, asked + lease or the call of the latest ok extend (of this hold, and no ghost)
//	          + lease, the return of a reply that it is gone, the first confirmed fault of a node
//	          that can lose or move it.
//	possible  the server can have had it: from asked to the first of: the return of its ok release,
//	          the return of a reply that it is gone, the latest return of an ok or unknown acquire or
//	          extend + lease + slack. An operation of unknown outcome ends nothing, and may have its
//	          effect until its client's next answer of the server.
//
// Asked is when the granted try began; the call of the acquire if that is not recorded.
//
// A re-entry renews all holds of the client, as an extend does. An inner release may: it prolongs
// what is possible and nothing that is certain or told.

// plus adds without overflow.
func plus(t, d int64) int64 {
	if d > 0 && t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// clockGrain is in nanoseconds: servers count the ends of leases in milliseconds.
const clockGrain = 1_000_000

// slack returns by how much a server may keep a lease too long: drift, and the grain of its clock.
func slack(h history.Header) int64 { return h.Drift + clockGrain }

// lease returns when a lease that began at an instant ends, at the earliest.
func lease(h history.Header, from int64) int64 {
	if h.Lease == 0 {
		return never
	}
	return plus(from, h.Lease)
}

// kept returns until when a server can keep what it did by an instant.
func kept(h history.Header, by int64) int64 {
	if h.Lease == 0 || by == never {
		return never
	}
	return plus(by, h.Lease+slack(h))
}

// asked returns the earliest instant at which an acquire can have taken effect.
func (k *keyLog) asked(o *op) int64 {
	if o.granted() {
		if n := k.holds.at(o.hold).rare; n != 0 && k.rares.at(n).known {
			return max(o.call, k.rares.at(n).asked)
		}
	}
	return o.call
}

// fence returns the fence of a grant; 0: none.
func (k *keyLog) fence(o *op) uint64 {
	if n := k.holds.at(o.hold).rare; n != 0 && o.granted() {
		return k.rares.at(n).fence
	}
	return 0
}

// nested reports whether a grant may re-enter a hold of its client.
func (k *keyLog) nested(o *op) bool {
	n := k.holds.at(o.hold).rare
	return n != 0 && k.rares.at(n).nested
}

// rareOf returns the rare fields of a hold, and adds them if it has none.
func (k *keyLog) rareOf(hold uint32) *rare {
	h := k.holds.at(hold)
	if h.rare == 0 {
		h.rare = k.rares.add(rare{})
	}
	return k.rares.at(h.rare)
}

// believedUntil returns until when the reply to a grant or an extend lets its client believe.
func (k *keyLog) believedUntil(h history.Header, o *op) int64 {
	told := int64(0)
	if o.granted() {
		told = k.holds.at(o.hold).told
	} else {
		told = k.extends.at(o.detail).told
	}
	switch {
	case told != 0:
		return told
	case h.Lease == 0:
		return never
	}
	return plus(k.asked(o), h.Lease-h.Drift)
}

// beliefEnd returns the end of the belief that begins when an operation returns; ok is false if
// none does.
func (k *keyLog) beliefEnd(o *op) (end int64, ok bool) {
	switch {
	case o.granted():
		return k.holds.at(o.hold).belief, true
	case o.renewed() && o.hold != 0 && k.holds.at(o.hold).began == o.place:
		return k.holds.at(o.hold).belief, true
	case o.renewed():
		end = k.extends.at(o.detail).end
		return end, end != 0
	}
	return 0, false
}

// certainUntil returns until when a correct server had a hold.
func (k *keyLog) certainUntil(h *hold) int64 {
	if h.release != 0 {
		return min(h.certain, k.at(h.release).call)
	}
	return h.certain
}
