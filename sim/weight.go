package sim

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// weighty lists the properties whose violation says most of a lock. A schedule that broke one of them is told of by it: what else broke
// there, two clients inside or a damaged store, came of it or would have been nobody's fault.
var weighty = []history.Property{history.MutualExclusion, history.ReleaseSafety}

// byWeight puts what says most first and leaves the rest in the order of time.
func byWeight(all []broken) []broken {
	slices.SortStableFunc(all, func(a, b broken) int { return weight(a) - weight(b) })
	return all
}

func weight(b broken) int {
	if i := slices.Index(weighty, b.Property); i >= 0 {
		return i
	}
	return len(weighty)
}
