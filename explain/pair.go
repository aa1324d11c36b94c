package explain

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// pair is the question: what became of the first hold's mark before the second was granted.
type pair struct {
	*run
	first  *hold
	second *history.Operation // an acquire or an extend that was granted, or the operation that found the mark gone
	at     int64              // when the second was granted
	try    []query            // the second's
	seen   int64              // when the violation was seen
	beside []*hold            // those that held permits beside the first
}

func (r *run) pair(first *hold, second *history.Operation, seen int64) *pair {
	return &pair{run: r, first: first, second: second, at: r.grantedAt(second), try: r.try(second, math.MaxInt64), seen: seen}
}

// quorum returns how many nodes must grant.
func (r *run) quorum() int { return max(r.Header.Quorum, 1) }

// shares reports whether several may hold at once, so that they may count in one part.
func (r *run) shares() bool { return r.Header.Kind == history.RW || r.Header.Kind == history.Semaphore }

// granter returns the node that granted the second, or else that it asked last; nil: it asked none.
func (p *pair) granter() *node {
	for _, q := range slices.Backward(p.try) {
		if q.grants() {
			return q.node
		}
	}
	if len(p.try) > 0 {
		return p.try[len(p.try)-1].node
	}
	return nil
}

// homeOf returns the node that granted the first.
func (p *pair) homeOf() int {
	try := p.run.try(p.first.op, math.MaxInt64)
	return try[len(try)-1].node.index
}

// votes returns the nodes that granted the second.
func (p *pair) votes() map[int]bool {
	nodes := map[int]bool{}
	for i := range p.try {
		if q := &p.try[i]; q.grants() {
			nodes[q.node.index] = true
		}
	}
	return nodes
}

// granting names the request that granted the second, and when it was executed.
func (p *pair) granting() (statement, int64) {
	q := &p.try[len(p.try)-1]
	for i := range p.try {
		if p.try[i].grants() {
			q = &p.try[i]
		}
	}
	return sentence(Name(p.second.Client), "'s ", called(q.cmd.Name, q.cmd.Script, q.cmd.Args)), q.at
}

// handed returns the command of another client that granted the second, as a release that hands the
// lock to the next who waits; nil: its own did.
func (p *pair) handed() (by *event) {
	if len(p.second.Token) < 8 { // shorter ones may be anything's
		return nil
	}
	for _, n := range inOrder(p.nodes) {
		for i := n.by(p.first.granted); i < n.by(p.second.Return); i++ {
			e := &n.events[i]
			for j := range e.Changes {
				for at := range set(&e.Changes[j]) {
					if text, _ := data(e.Changes[j].After, at.name); e.Effect == "" && text == p.second.Token {
						by = e
					}
				}
			}
		}
	}
	if by != nil && by.Client == p.second.Client {
		return nil
	}
	return by
}

// before returns the event of a node before which the second's last request came, its own effect
// included.
func (p *pair) before(n *node) int {
	to, granted := -1, slices.ContainsFunc(p.try, func(q query) bool { return q.node == n && q.grants() })
	for i := range p.try {
		if q := &p.try[i]; q.node == n && (to < 0 || q.grants() || !granted) {
			to = q.pos
			if q.event != nil {
				to++
			}
		}
	}
	if to < 0 {
		return n.by(p.at)
	}
	return to
}

// refused reports whether a try would not have been granted with parts put back. A request that
// wrote must write the same parts; one that only read must be replied the same, since its client
// decided by the reply.
//
// With the clock back, the request is executed by the time of the first's grant: a lock may end
// leases by itself.
func (p *pair) refused(try []query, back []fate, clockBack bool) bool {
	for i := range try {
		q := &try[i]
		its := slices.DeleteFunc(slices.Clone(back), func(f fate) bool { return f.node != q.node || f.at > q.pos })
		if len(its) == 0 {
			continue
		}
		own := p.own(q.node, q.at)
		if clockBack {
			own = p.own(q.node, p.first.granted)
		}
		reply, changes := p.ask(q, its, nil, own)
		if q.grants() {
			again := q.cmd.Script == "" && reply == q.cmd.Reply // it sets what is there
			if !again && setsMore(q.event.Changes, changes) {
				return true
			}
			continue
		}
		if plain, _ := p.ask(q, nil, nil, own); reply != plain {
			return true
		}
	}
	return false
}
