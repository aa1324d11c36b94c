package sim

import (
	"math/rand/v2"
	"slices"
)

// oldest is the default choice: what has been possible for the longest time, ordered by name among
// equals.
func oldest(options []option) option {
	best := options[0]
	for _, o := range options[1:] {
		if o.ready < best.ready {
			best = o
		}
	}
	return best
}

// ByDefault always takes the oldest.
type ByDefault struct{}

func (ByDefault) choose(m moves) option { return oldest(m.options) }

// chance is what a strategy does at random besides ordering messages. The steps at which its faults
// are injected are drawn before the schedule begins, over its expected length: drawn step by step,
// faults would nearly always come early.
type chance struct {
	rand   *rand.Rand
	waits  float64 // chance of letting time pass at a step
	faults []int   // steps at which a fault is injected, in order
}

// choose picks a fault that is due, or lets time pass; false if a message is next.
func (c *chance) choose(m moves) (option, bool) {
	if len(c.faults) > 0 && m.step >= c.faults[0] {
		if possible := m.faults(); len(possible) > 0 {
			c.faults = c.faults[1:]
			return possible[c.rand.IntN(len(possible))], true
		}
	}
	return option{kind: waitForTime}, m.wait && c.rand.Float64() < c.waits
}

// random picks uniformly among the messages.
type random struct {
	chance
	calm float64 // chance of taking the default at a step
}

// NewRandom returns a strategy that chooses uniformly. length is the expected number of steps.
func NewRandom(seed uint64, b Bounds, length int) Strategy { return newRandom(seed, b, length) }

func newRandom(seed uint64, b Bounds, length int) *random {
	r := rand.New(rand.NewPCG(seed, 1))
	waits := []float64{0, 0, 0.03, 0.15}
	calm := []float64{0, 0.5, 0.9}
	s := &random{chance: chance{rand: r, waits: waits[r.IntN(len(waits))]}, calm: calm[r.IntN(len(calm))]}
	s.faults = faultSteps(r, b, length)
	return s
}

// faultSteps draws the steps at which faults are injected: mostly as many as are allowed.
func faultSteps(r *rand.Rand, b Bounds, length int) []int {
	n := b.MaxFaults
	if n > 0 && r.IntN(4) == 0 {
		n = r.IntN(n)
	}
	steps := make([]int, n)
	for i := range steps {
		steps[i] = r.IntN(max(length, 1))
	}
	slices.Sort(steps)
	return steps
}

func (s *random) choose(m moves) option {
	if o, ok := s.chance.choose(m); ok {
		return o
	}
	if s.rand.Float64() < s.calm {
		return oldest(m.options)
	}
	return m.options[s.rand.IntN(len(m.options))]
}

// pct is probabilistic concurrency testing: every client has a priority, the highest goes first,
// and at a few steps drawn beforehand the next client drops to the lowest priority. It finds a bug
// that needs d ordering constraints with a probability of at least 1/(n·k^(d-1)) for n clients and
// k steps.
type pct struct {
	chance
	rank    map[int]int // by owner; higher goes first
	lowest  int
	changes []int
}

// depth is the number of ordering constraints that PCT aims at.
const depth = 3

// NewPCT returns a strategy of probabilistic concurrency testing. length is the expected number of
// steps.
func NewPCT(seed uint64, b Bounds, clients, length int) Strategy {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &pct{chance: chance{rand: r, waits: []float64{0, 0.05}[r.IntN(2)]}, rank: map[int]int{}}
	s.faults = faultSteps(r, b, length)
	order := r.Perm(clients + 1)
	for i := range clients {
		s.rank[i] = order[i]
	}
	s.rank[MaxClients] = order[clients]
	for range depth - 1 {
		s.changes = append(s.changes, r.IntN(max(length, 1)))
	}
	slices.Sort(s.changes)
	return s
}

func (s *pct) choose(m moves) option {
	if o, ok := s.chance.choose(m); ok {
		return o
	}
	best := s.highest(m.options)
	if len(s.changes) > 0 && m.step >= s.changes[0] {
		s.changes = s.changes[1:]
		s.lowest--
		s.rank[best.owner()] = s.lowest
		best = s.highest(m.options)
	}
	return best
}

func (s *pct) highest(options []option) option {
	best := options[0]
	for _, o := range options[1:] {
		if s.rank[o.owner()] > s.rank[best.owner()] || (o.owner() == best.owner() && o.ready < best.ready) {
			best = o
		}
	}
	return best
}
