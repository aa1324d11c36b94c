// Package reach counts what runs reached of what they could have reached: a fault that struck, a
// refusal, a hold beyond its lease. What was never reached is not shown by runs that found nothing.
//
// A search, a suite and the conformance kit count in the same way.
package reach

import (
	"maps"
	"slices"
)

// Counts says how often each thing was reached. A count of 0 means that it could have been.
type Counts map[string]int

// Could adds things that could be reached.
func (c Counts) Could(things ...string) {
	for _, t := range things {
		c[t] += 0
	}
}

// Did counts a thing that was reached.
func (c Counts) Did(thing string) { c[thing]++ }

// Add adds the counts of other runs. The result is c, or new if c is nil.
func (c Counts) Add(other Counts) Counts {
	if c == nil {
		c = Counts{}
	}
	for t, n := range other {
		c[t] += n
	}
	return c
}

// Never returns what was never reached, in order.
func (c Counts) Never() (never []string) {
	for _, t := range slices.Sorted(maps.Keys(c)) {
		if c[t] == 0 {
			never = append(never, t)
		}
	}
	return never
}
