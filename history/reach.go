package history

import (
	"maps"
	"slices"
)

// Reach counts how often runs reached what they could have reached: a fault that struck, a refusal, a
// hold beyond its lease. A count of 0 means that it could have been and never was: runs that found
// nothing show nothing about it. A search, a suite and the conformance kit count in this way.
type Reach map[string]int

// Could adds things that could be reached.
func (c Reach) Could(things ...string) {
	for _, t := range things {
		c[t] += 0
	}
}

// Did counts a thing that was reached.
func (c Reach) Did(thing string) { c[thing]++ }

// Add adds the counts of other runs. The result is c, or new if c is nil.
func (c Reach) Add(other Reach) Reach {
	if c == nil {
		c = Reach{}
	}
	for t, n := range other {
		c[t] += n
	}
	return c
}

// Never returns what was never reached, in order.
func (c Reach) Never() (never []string) {
	for _, t := range slices.Sorted(maps.Keys(c)) {
		if c[t] == 0 {
			never = append(never, t)
		}
	}
	return never
}
