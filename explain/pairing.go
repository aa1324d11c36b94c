package explain

import (
	"slices"
)

// pairing is two attempts at one node.
type pairing struct{ first, second *attempt }

// common pairs the attempts by node. It omits nodes that did not vote for the first, unless no vote is known.
func common(first, second []*attempt) (out []pairing) {
	voted := slices.ContainsFunc(first, func(a *attempt) bool { return a.grant >= 0 })
	for _, a := range first {
		if voted && a.grant < 0 {
			continue
		}
		for _, b := range second {
			if a.node == b.node && b.grant >= 0 && touches(a.keys(), b.keys()) {
				out = append(out, pairing{a, b})
			}
		}
	}
	return out
}

// time returns when the node granted.
func (a *attempt) time() int64 { return a.node.events[a.first()].at }

// granting returns the command that granted.
func (a *attempt) granting() *event { return &a.node.events[a.first()] }

// takenBackBy reports whether an event only removed what the command that granted had set.
func (a *attempt) takenBackBy(e *event) bool {
	return len(keysOf(e.changes, true)) == 0 && slices.ContainsFunc(e.changes, func(c change) bool { return slices.ContainsFunc(a.granting().changes, c.meets) })
}

// reported converts the grant for an answer.
func (a *attempt) reported() Event {
	e := a.granting().reported("", a.keys())
	e.Granted = true
	return e
}

// from returns the index of the first event after the first's grant.
func (p pairing) from() int { return p.first.first() + 1 }

// inBetween returns the events after the first's grant and before the second's.
func (p pairing) inBetween() []event {
	return p.first.node.events[min(p.from(), p.second.grant):p.second.grant]
}

// since returns where a replay without an event must begin. A change of the clock before the first's attempt is left out from that attempt on: what
// else it did before, such as letting the first in, stays.
func (p pairing) since(event int) int { return max(event, p.first.events[0]) }

// to returns the index of the first command of the second's attempt.
func (p pairing) to() int { return p.second.events[0] }

// doubtful reports whether a command between the two with an unexplained reply may have used the second's keys.
func (p pairing) doubtful() bool {
	if p.first.node.broken && p.second.grant >= len(p.first.node.events) {
		return true
	}
	keys := p.second.keys()
	for i := min(p.first.first(), p.to()); i <= p.second.last(); i++ {
		if e := &p.first.node.events[i]; e.open && (e.touched == nil || touches(e.touched, keys)) {
			return true
		}
	}
	return false
}

// keys returns the keys that an attempt named.
func (a *attempt) keys() (keys []string) {
	for _, i := range a.events {
		keys = append(keys, a.node.events[i].touched...)
	}
	return keys
}

func touches(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

func changesAny(e *event, keys []string) bool {
	return slices.ContainsFunc(e.changes, func(c change) bool { return slices.Contains(keys, c.key) })
}
