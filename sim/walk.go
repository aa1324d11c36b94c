package sim

// Walk is the strategy that walks all schedules within its bounds, depth first, by running the program again for each
// with a longer prefix of choices. It does not explore a known state again (see state below). A
// state that cannot be hashed is always explored.
//
// Workers divide the walk by its first decisions: each explores only its own part.
type Walk struct {
	path     []branch // the current schedule, with the remaining ways at each decision
	at       int      // decisions taken so far
	seen     map[uint64]struct{}
	part     int // of parts
	parts    int
	Pruned   int  // schedules that were given up, because their state was known
	Unhashed int  // number of states that could not be hashed
	Whole    bool // nothing is pruned
	begun    bool
	Broken   bool // a prefix led elsewhere than before: the program is not deterministic
}

// branch is one decision: the way taken last, the number of ways, and a hash of what had happened
// before.
type branch struct {
	taken, ways int
	traceHash   uint64 // 0: not known
}

// shared is how many decisions deep the walk is divided among workers.
const shared = 3

// NewWalk returns a walk; with a prefix, it walks only that schedule.
func NewWalk(part, parts int, prefix []int) *Walk {
	e := &Walk{seen: map[uint64]struct{}{}, part: part, parts: max(parts, 1)}
	for _, taken := range prefix {
		e.path = append(e.path, branch{taken: taken, ways: taken})
	}
	return e
}

// Next prepares the next schedule; it returns false when all have been walked.
func (e *Walk) Next() bool {
	e.at = 0
	if !e.begun {
		e.begun = true
		return true
	}
	for len(e.path) > 0 {
		last := &e.path[len(e.path)-1]
		if last.taken+1 < last.ways {
			last.taken++
			return true
		}
		e.path = e.path[:len(e.path)-1]
	}
	return false
}

// choose takes the decision of the path, or opens a new one. A step with one option is not a
// decision.
func (e *Walk) choose(m moves) option {
	ways := m.options
	ways = append(ways[:len(ways):len(ways)], m.faults()...)
	if m.wait {
		ways = append(ways, option{kind: waitForTime})
	}
	if len(ways) == 1 {
		return ways[0]
	}
	if e.at == len(e.path) {
		if e.at >= shared && !e.Whole { // the decisions that divide the walk are not pruned
			state, hashed := m.state()
			if !hashed {
				e.Unhashed++
			} else if _, known := e.seen[state]; known {
				e.Pruned++
				return option{kind: giveUp}
			} else {
				e.seen[state] = struct{}{}
			}
		}
		e.path = append(e.path, branch{ways: len(ways), traceHash: m.traceHash()})
	}
	e.at++
	if b := e.path[e.at-1]; b.taken >= len(ways) || b.traceHash != 0 && b.traceHash != m.traceHash() {
		e.Broken = true
		return option{kind: giveUp}
	}
	if e.at == shared { // does the part belong to this worker?
		h := uint64(hashStart)
		for _, b := range e.path[:shared] {
			h = mix(h, uint64(b.taken))
		}
		if int(h>>8%uint64(e.parts)) != e.part {
			return option{kind: giveUp}
		}
	}
	return ways[e.path[e.at-1].taken]
}

// States returns the number of distinct states seen.
func (e *Walk) States() int { return len(e.seen) }

// Prefix returns the decisions of the current schedule, as NewWalk takes them.
func (e *Walk) Prefix() []int {
	taken := make([]int, len(e.path))
	for i, b := range e.path {
		taken[i] = b.taken
	}
	return taken
}
