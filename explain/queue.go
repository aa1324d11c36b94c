package explain

import (
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// passing is an acquire that was granted while a client that had come earlier was waiting.
type passing struct {
	*run
	waiter *attempt // its last before the grant
	grant  *attempt
}

// overtaken explains why a client was granted the lock before one that had waited longer: by the event without which the newcomer is refused and the
// waiter, in its place, granted. If there is none, but the waiter is granted when the requests of those that came later are left out, the lock preferred
// the newcomer.
func (r *run) overtaken(v *checker.Violation) Answer {
	waiting, granted := r.acquireOf(v, v.Clients[0]), r.acquireOf(v, v.Clients[1])
	if waiting == nil || granted == nil {
		return Answer{}
	}
	for _, a := range r.attempts(granted) {
		if a.grant < 0 {
			continue
		}
		w := r.askedBefore(waiting, a.node, a.grant)
		if w == nil || (pairing{w, a}).doubtful() {
			continue
		}
		if answer := (&passing{r, w, a}).explain(); answer.Cause != "" {
			return answer
		}
	}
	return Answer{}
}

// acquireOf returns a client's acquire in the witness of a violation; nil: none.
func (r *run) acquireOf(v *checker.Violation, client string) *history.Operation {
	for _, op := range v.Witness.All() {
		if op.Op == history.Acquire && op.Client == client {
			return r.ops[op.ID]
		}
	}
	return nil
}

func (p *passing) explain() Answer {
	var took *event
	for _, i := range p.between() {
		e := &p.grant.node.events[i]
		if e.effect == nil && (took != nil || !p.takes(i)) || !p.decides(i) {
			continue
		}
		if e.effect != nil {
			return because(faultNames[e.effect.What], p.without(e), e.reported(p.waiter.op.Client, p.grant.keys()))
		}
		took = e
	}
	waiter := p.waiter.op.Client
	if took != nil {
		return because(verdicts.CauseUnknown, p.without(took), took.reported(waiter, p.grant.keys()))
	}
	return firstOf(func() Answer { return p.behind(p.later()) }, p.cameBack)
}

// takes reports whether an event removed a part that an earlier request of the waiter had made, such as its place in a queue, and belongs neither to
// that acquire nor to one that was granted or a release that was accepted: what those removed, as a place past its deadline, the lock itself dropped.
func (p *passing) takes(at int) bool {
	e := &p.grant.node.events[at]
	if e.op != nil && (e.op == p.waiter.op || e.op.Outcome == history.OK) {
		return false
	}
	made := madeParts{}
	for _, i := range p.grant.node.byOp[p.waiter.op.ID] {
		if i > at {
			break
		}
		made.add(p.grant.node.events[i].changes)
	}
	return slices.ContainsFunc(e.changes, func(c change) bool {
		for part, hit := range c.parts() {
			if hit == Freed && made[keyPart{c.key, part}] {
				return true
			}
		}
		return false
	})
}

// behind explains a grant by the fewest of the acquires that were called after the waiter's and without which it would have been granted by then.
func (p *passing) behind(others []*history.Operation) Answer {
	if newcomer := []*history.Operation{p.grant.op}; p.ahead(newcomer) {
		others = newcomer
	}
	if !p.ahead(others) {
		return Answer{}
	}
	others = fewest(others, p.ahead)
	at := p.grant.time()
	if _, early := p.first(others); early != nil {
		at = early.at
	}
	var who []statement
	for _, op := range others {
		who = append(who, sentence(Name(op.Client)))
	}
	return because(verdicts.Barging, sentence("had ", listed(who), " not tried, ", Name(p.waiter.op.Client), " would have been granted at ", Instant(at),
		": the lock preferred later clients"), p.grant.granting().reported("", nil))
}

// cameBack explains a grant to a client that had given up an acquire, by what that had left behind, such as a place in a queue: without it, the waiter would
// have been granted by then.
func (p *passing) cameBack() Answer {
	n, newcomer := p.grant.node, p.grant.op
	var given []*history.Operation
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Op == history.Acquire && op.Outcome != history.OK && op.Client == newcomer.Client && op.Key == newcomer.Key && op.Return <= newcomer.Call && len(n.byOp[op.ID]) > 0 {
			given = append(given, op)
		}
	}
	if len(given) == 0 || !p.ahead(given) {
		return Answer{}
	}
	left := &n.events[n.byOp[fewest(given, p.ahead)[0].ID][0]]
	return because(verdicts.Barging, sentence("without ", words(left), ", in an acquire that it gave up, ", Name(p.waiter.op.Client), " would have been granted in place of ",
		words(p.grant.granting()), ": the lock kept a place for a client that had left"), left.reported("", nil), p.grant.granting().reported("", nil))
}

// ahead reports whether the waiter is granted by the time of the newcomer's grant when acquires are left out.
func (p *passing) ahead(ops []*history.Operation) bool {
	granted, early := p.first(ops)
	return granted || early != nil
}

// later returns the acquires of others whose first request that the node ran, up to the grant, came after the waiter's.
func (p *passing) later() (ops []*history.Operation) {
	n := p.grant.node
	came := func(op *history.Operation) int {
		return slices.IndexFunc(n.byOp[op.ID], func(i int) bool { return len(n.events[i].touched) > 0 && !n.events[i].cmd.Failed() })
	}
	after := n.byOp[p.waiter.op.ID][max(came(p.waiter.op), 0)]
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Op != history.Acquire || op.Client == p.waiter.op.Client {
			continue
		}
		if k := came(op); k >= 0 && n.byOp[op.ID][k] > after && n.byOp[op.ID][k] <= p.grant.grant {
			ops = append(ops, op)
		}
	}
	return ops
}

// first reports whether the waiter is granted in place of the newcomer when acquires are left out, or returns the earlier request that is.
func (p *passing) first(ops []*history.Operation) (granted bool, early *event) {
	left, from := without{}, p.grant.grant
	for _, op := range ops {
		left.ops, from = append(left.ops, op.ID), min(from, p.grant.node.byOp[op.ID][0])
	}
	return p.instead(p.grant, p.waiter, from, left)
}

// without returns the sentence for a decisive event.
func (p *passing) without(e *event) statement {
	return sentence("without ", words(e), ", ", Name(p.grant.op.Client), " would have been refused, and ", Name(p.waiter.op.Client), " granted in its place")
}

// decides reports whether the waiter, and not the newcomer, is granted when an event is left out.
func (p *passing) decides(i int) bool {
	left := without{events: []int{i}}
	if p.granted(p.grant, i, left) {
		return false
	}
	granted, _ := p.instead(p.grant, p.waiter, i, left)
	return granted
}

// between returns the events since the waiter's first request that changed the keys of either client, without the newcomer's own.
func (p *passing) between() (out []int) {
	n, keys := p.grant.node, append(p.waiter.keys(), p.grant.keys()...)
	for i := n.byOp[p.waiter.op.ID][0] + 1; i < p.grant.grant; i++ {
		if e := &n.events[i]; changesAny(e, keys) && e.op != p.grant.op {
			out = append(out, i)
		}
	}
	return out
}
