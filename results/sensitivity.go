package results

import (
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
)

// Sensitivity is how many planted bugs were caught. A bug is caught if one of its cells showed all expected breaks.
type Sensitivity struct {
	Planted int           `json:"planted"`
	Caught  int           `json:"caught"`
	Missed  []string      `json:"missed"`
	Median  time.Duration `json:"median"` // nanoseconds, of the cells that caught a bug; 0: none
}

func sensitivity(cells []Cell) Sensitivity {
	s := Sensitivity{Missed: []string{}}
	caught := map[string]bool{}
	var took []time.Duration
	for _, c := range cells {
		if !c.Planted || c.Verdict == checker.NotApplicable {
			continue
		}
		if _, seen := caught[c.Lock]; !seen {
			s.Planted++
			s.Missed = append(s.Missed, c.Lock)
			caught[c.Lock] = false
		}
		if c.Verdict == checker.Pass && c.Observed != breaksText(nil) && !caught[c.Lock] {
			caught[c.Lock] = true
			took = append(took, c.Duration)
		}
	}
	s.Missed = slices.DeleteFunc(s.Missed, func(lock string) bool { return caught[lock] })
	s.Caught, s.Median = len(took), median(took)
	return s
}

// median returns the lower median; 0 of none.
func median(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
