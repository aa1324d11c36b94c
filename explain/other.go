package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// wrongfulEnd explains a release or an extend that was accepted without a hold: by the command of it that hit a value which another client had
// written.
func (r *run) wrongfulEnd(v *checker.Violation) Answer {
	for _, o := range v.Operations {
		if o.Op != history.Release && o.Op != history.Extend {
			continue
		}
		for _, n := range r.nodes {
			for _, i := range n.byOp[o.ID] {
				if a := r.hit(n, i); a.Causes != nil {
					return a
				}
			}
		}
	}
	return Answer{}
}

// hit is the answer for a command that changed what another client had written.
func (r *run) hit(n *node, i int) Answer {
	e := &n.events[i]
	for _, c := range e.changes {
		w := r.writing(n, i, []change{c})
		if e.open || c.before == nil || w == nil || w.open || w.cmd.Client == e.cmd.Client || w.op == nil {
			continue
		}
		cause := history.MisUnlock
		if w.op.Mode == history.Shared && c.freed() {
			cause = history.ReaderEvicted
		}
		m := &meeting{run: r}
		return Answer{[]history.Cause{cause}, fmt.Sprintf("without %s, %q would have stayed as %s's %s left it", m.words(e), c.key, w.cmd.Client, called(w.cmd))}
	}
	return Answer{}
}

// fence explains a fence that is not larger than an earlier one: by the event between the two grants without which the later grant would have
// been given a larger one, and else by what let the two holds meet.
func (r *run) fence(v *checker.Violation) Answer {
	holds := r.holds(v)
	if len(holds) < 2 || r.failed {
		return Answer{}
	}
	first, second := holds[0], holds[len(holds)-1]
	m := &meeting{run: r, first: first, second: second}
	for _, p := range common(r.attempts(first), r.attempts(second)) {
		if p.doubtful() || p.second.time() < p.first.time() {
			continue
		}
		var found []finding
		for _, i := range m.candidates(p) {
			if e := &p.first.node.events[i]; e.op != nil && e.op.Op == history.Acquire {
				continue
			}
			if granted, reply := r.granted(p.second, i, without{events: []int{i}}); granted && largest(reply) > first.Fence {
				found = append(found, m.finding(p, i))
			}
		}
		if len(found) > 0 {
			slices.SortStableFunc(found, func(a, b finding) int { return int(a.rank - b.rank) })
			return Answer{[]history.Cause{found[0].name}, fmt.Sprintf("without %s, the fence of %s would have been larger than %d", found[0].text, second.Client, first.Fence)}
		}
	}
	return r.overlap(v, holds, never)
}

// largest is the largest number in a reply.
func largest(reply string) (most uint64) {
	for _, word := range strings.FieldsFunc(reply, func(c rune) bool { return c < '0' || c > '9' }) {
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// ownHold explains what went wrong with one client's hold while it had it: by what changed the key in between.
func (r *run) ownHold(v *checker.Violation) Answer { return Answer{} }
