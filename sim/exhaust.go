package sim

// exhaust walks all schedules within its bounds, depth first, by running the program again for each with a longer prefix of
// choices. A state that has been seen is not gone into again, see state.go. A state that cannot be hashed always is.
//
// Two workers share the walk by its first decisions: each goes only into what is its own.
type exhaust struct {
	path    []branch // the schedule under way and what is left to do at each of its decisions
	at      int      // how many decisions of it have been taken
	seen    map[uint64]struct{}
	part    int // of parts
	parts   int
	pruned  int
	unknown int  // states that could not be hashed
	whole   bool // nothing is pruned
	begun   bool
	stopped bool // the walk is over
	broken  bool // a prefix did not lead where it led before: the program is not deterministic
}

// branch is one decision: which of how many ways was taken last, and what had happened before it.
type branch struct {
	taken, ways int
	past        uint64 // 0: not known
}

// shared is how many decisions deep the workers' parts divide.
const shared = 3

// newExhaust starts a walk; prefix, when there is one, is the one schedule that is walked.
func newExhaust(part, parts int, prefix []int) *exhaust {
	e := &exhaust{seen: map[uint64]struct{}{}, part: part, parts: max(parts, 1)}
	for _, taken := range prefix {
		e.path = append(e.path, branch{taken: taken, ways: taken})
	}
	return e
}

// next prepares the next schedule; false when all have been walked.
func (e *exhaust) next() bool {
	if e.stopped {
		return false
	}
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
	e.stopped = true
	return false
}

// choose takes the decision of the path, or opens a new one. Decisions with one way are not decisions.
func (e *exhaust) choose(m moves) option {
	ways := m.options
	ways = append(ways[:len(ways):len(ways)], m.faults()...)
	if m.wait {
		ways = append(ways, option{kind: waitForTime})
	}
	if len(ways) == 1 {
		return ways[0]
	}
	if e.at == len(e.path) {
		if e.known(m) {
			return option{kind: giveUp}
		}
		e.path = append(e.path, branch{ways: len(ways), past: m.past()})
	}
	e.at++
	if b := e.path[e.at-1]; b.taken >= len(ways) || b.past != 0 && b.past != m.past() {
		e.broken = true
		return option{kind: giveUp}
	}
	if e.at == shared && !e.mine() {
		return option{kind: giveUp}
	}
	return ways[e.path[e.at-1].taken]
}

// known reports whether a state has been gone into, and notes it. Decisions that the workers share out are not pruned.
func (e *exhaust) known(m moves) bool {
	if e.at < shared || e.whole {
		return false
	}
	state, ok := m.state()
	if !ok {
		e.unknown++
		return false
	}
	if _, ok := e.seen[state]; ok {
		e.pruned++
		return true
	}
	e.seen[state] = struct{}{}
	return false
}

// mine reports whether the first decisions belong to this worker.
func (e *exhaust) mine() bool {
	h := uint64(hashStart)
	for _, b := range e.path[:shared] {
		h = mix(h, uint64(b.taken))
	}
	return int(h>>8%uint64(e.parts)) == e.part
}

// prefix is the path of the schedule under way.
func (e *exhaust) prefix() []int {
	taken := make([]int, len(e.path))
	for i, b := range e.path {
		taken[i] = b.taken
	}
	return taken
}
