package explain

import (
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// fence explains a fence that is not larger than an earlier one: by what became of the part that
// counts them, or by a grant that did not count.
func (r *run) fence(v *checker.Violation) Answer {
	holds := r.shown(v)
	if len(holds) < 2 {
		return Answer{}
	}
	second := holds[len(holds)-1]
	for _, first := range slices.Backward(holds[:len(holds)-1]) {
		if second.op.Fence == 0 || second.op.Fence > first.op.Fence {
			continue
		}
		if a := r.refenced(v, first, second); a.Cause != "" {
			return a
		}
	}
	return Answer{}
}

// refenced explains why the second of two grants has a fence that is not larger than the first's.
func (r *run) refenced(v *checker.Violation, first, second *hold) Answer {
	p := r.pair(first, second.op, v.At)
	if n := p.granter(); p.Header.Copies && n != nil && n.index != p.homeOf() { // copies of one: each had counted for itself
		for i := n.by(first.granted); i < n.by(p.at); i++ {
			if n.events[i].Effect == history.Promoted {
				return Answer{Cause: verdicts.FailoverLoss, Says: sentence(n.words(i, ""), " came before it had the count of ", Name(first.op.Client), "'s grant")}
			}
		}
		return p.conclude(fate{node: n, at: -1, by: apart}, nil)
	}
	for _, n := range inOrder(r.nodes) {
		if a := p.counter(n); a.Cause != "" {
			return a
		}
	}
	over := r.told(first, v.At) // when its client gave it up
	if first.release != nil {
		over = first.release.Call
	}
	if a := r.overlap(v); a.Cause != "" && a.Cause != verdicts.DoubleGrant && over > p.at {
		return a
	}
	if second.op.Fence == first.op.Fence {
		return Answer{Cause: verdicts.FenceReused, Says: sentence("the grant of ", Name(first.op.Client), " did not count: ", Name(second.op.Client), " was given the same fence")}
	}
	return Answer{}
}

// fencesBack explains replies that no order explains by the first grant among them whose fence is
// not larger than that of an earlier one, which may have come before all of them.
func (r *run) fencesBack(v *checker.Violation) Answer {
	for _, second := range r.shown(v) {
		if second.op.Fence == 0 || second.op.Mode == history.Shared {
			continue
		}
		var first *hold
		for _, h := range r.holds {
			if h.granted < second.granted && h.op.Key == second.op.Key && h.op.Mode != history.Shared && (first == nil || h.op.Fence >= first.op.Fence) {
				first = h
			}
		}
		if first == nil || first.op.Fence < second.op.Fence || first.op.Fence == second.op.Fence && second.outer != nil {
			continue
		}
		return r.refenced(v, first, second)
	}
	return Answer{}
}

// counter answers by the part of a node that counts the fences: it had the first's fence and later
// the second's. What took it before it first had no more than the first's is the cause: the first's
// client may have begun the new count itself.
func (p *pair) counter(n *node) Answer {
	first, second := strconv.FormatUint(p.first.op.Fence, 10), strconv.FormatUint(p.second.Fence, 10)
	back := map[part]fate{} // counts that have begun anew
	for key, changed := range inOrder(n.byKey) {
		m := &mark{node: n, parts: map[part]written{}}
		for _, i := range changed {
			if n.events[i].At > p.second.Return {
				break
			}
			for name, text := range inOrder(n.change(i, key).After.Parts()) {
				at := part{key, name}
				if w, counted := m.parts[at]; counted && w.from <= i {
					if f := p.fateOf(m, at, i); f.at >= 0 && back[at].node == nil {
						back[at] = f
					}
					if f := back[at]; f.node != nil && text == second {
						return p.recounted(f)
					}
				}
				if text == first && n.events[i].At <= p.first.op.Return {
					m.parts[at] = written{text, i + 1}
				}
			}
		}
	}
	return Answer{}
}

// recounted answers by what took the part that counts the fences.
func (p *pair) recounted(f fate) Answer {
	a := p.conclude(f, []fate{f})
	if f.by == expired {
		a.Cause = verdicts.CountExpired
	}
	a.Says = sentence("without ", f.node.words(f.at, f.key), ", ", Name(p.second.Client), " would have been given a fence larger than ", f.text)
	return a
}
