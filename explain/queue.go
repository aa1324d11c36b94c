package explain

import (
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
// waiter, in its place, granted. If there is none, but the waiter is granted when the newcomer's requests are left out, the lock preferred the newcomer.
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
		if !p.decides(i) {
			continue
		}
		e := &p.grant.node.events[i]
		if e.effect != nil {
			return because(faultNames[e.effect.What], p.without(e), e.reported(p.waiter.op.Client, p.grant.keys()))
		}
		if took == nil {
			took = e
		}
	}
	waiter := p.waiter.op.Client
	if took != nil {
		return because(verdicts.CauseUnknown, p.without(took), took.reported(waiter, p.grant.keys()))
	}
	if !p.instead(p.grant, p.waiter, p.grant.node.byOp[p.grant.op.ID][0], without{ops: []uint64{p.grant.op.ID}}) {
		return Answer{}
	}
	granting := &p.grant.node.events[p.grant.grant]
	return because(verdicts.Barging, sentence("had ", Name(p.grant.op.Client), " not tried, ", Name(waiter), " would have been granted in place of ", words(granting),
		": the lock preferred the later client"), granting.reported("", nil))
}

// without returns the sentence for a decisive event.
func (p *passing) without(e *event) Sentence {
	return sentence("without ", words(e), ", ", Name(p.grant.op.Client), " would have been refused, and ", Name(p.waiter.op.Client), " granted in its place")
}

// decides reports whether the waiter, and not the newcomer, is granted when an event is left out.
func (p *passing) decides(i int) bool {
	left := without{events: []int{i}}
	return !p.granted(p.grant, i, left) && p.instead(p.grant, p.waiter, i, left)
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
