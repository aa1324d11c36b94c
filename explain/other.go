package explain

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// wrongfulEnd explains a release or an extend that succeeded without a hold: by its command that changed a value written by another client, or by what
// had ended the hold.
func (r *run) wrongfulEnd(v *checker.Violation) Answer {
	return firstOf(
		func() Answer { return r.hitsAnother(v) },
		func() Answer { return r.ownHold(v, v.Clients[len(v.Clients)-1], v.At) },
		func() Answer { return r.overlap(v, r.holding(v), never) },         // it ended its client's own hold: the other client was granted beside it
		func() Answer { return r.ownHold(v, v.Clients[0], math.MaxInt64) }) // or a mark that its client had set again and others use
}

// hitsAnother explains a release or an extend that changed what another client had written.
func (r *run) hitsAnother(v *checker.Violation) Answer {
	for _, o := range v.Witness.All() {
		if o.Op != history.Release && o.Op != history.Extend {
			continue
		}
		for _, n := range r.nodes {
			for _, i := range n.byOp[o.ID] {
				if a := r.hit(n, i, r.wronged(v, n, i)); a.Cause != "" {
					return a
				}
				if a := r.hitBefore(v, n, i); a.Cause != "" {
					return a
				}
			}
		}
	}
	return Answer{}
}

// hitBefore explains a command that changed what its own client had written over what was another's, other than by being granted the lock.
func (r *run) hitBefore(v *checker.Violation, n *node, i int) Answer {
	for j, e := range slices.Backward(n.events[:i]) {
		if e.cmd != nil && e.cmd.Client == n.events[i].cmd.Client && (e.op == nil || e.op.Op != history.Acquire) && slices.Contains(n.writers(i), &n.events[j]) {
			return r.hit(n, j, r.wronged(v, n, j))
		}
	}
	return Answer{}
}

// wronged returns the command of the violation's first client that had last written a part which an event changed, or its grant, if that had found it already
// written; nil: none.
func (r *run) wronged(v *checker.Violation, n *node, i int) *event {
	held := r.held(v.Clients[0], v.Key, n.events[i].at)
	if held == nil {
		return nil
	}
	for _, w := range n.writers(i) {
		if w.cmd.Client == held.Client {
			return w
		}
	}
	for _, a := range r.attempts(held) {
		if a.node == n && a.grant >= 0 && a.grant < i && slices.ContainsFunc(n.events[i].changes, func(c change) bool {
			return r.wrote(a, c) && n.writer(i, c) <= a.grant
		}) {
			return &n.events[a.grant]
		}
	}
	return nil
}

// wrote reports whether an attempt wrote a part that a later event changed, or may have found it already written.
func (r *run) wrote(a *attempt, later change) bool {
	e := &a.node.events[a.grant]
	if len(e.changes) > 0 {
		return slices.ContainsFunc(e.changes, func(c change) bool { return c.meets(later) })
	}
	again := r.asks.of(e.cmd)
	if again == nil || !slices.Contains(e.touched, later.key) {
		return false
	}
	r.m.load(a.node.state(a.grant), e.clock)
	return !r.m.idle(e, again, nil)
}

// hit returns the answer for a command that changed what another client had written, or had found already written.
func (r *run) hit(n *node, i int, wronged *event) Answer {
	e := &n.events[i]
	for _, c := range e.changes {
		w := wronged
		if at := n.writer(i, c); w == nil && at >= 0 {
			w = &n.events[at]
		}
		if e.open || c.before == nil || w == nil || w.open || w.cmd.Client == e.cmd.Client || w.op == nil {
			continue
		}
		cause := verdicts.MisUnlock
		if r.modeOf(w.op) == history.Shared && c.freed() {
			cause = verdicts.ReaderEvicted
		}
		return because(cause, sentence("without ", words(e), ", ", Key(c.key), " would have stayed as ", Name(w.cmd.Client), "'s ", called(w.cmd), " left it"),
			e.reported(w.cmd.Client, []string{c.key}))
	}
	return Answer{}
}

// modeOf returns the mode of an operation's hold.
func (r *run) modeOf(op *history.Operation) history.Mode {
	if h := r.holdOf[op.ID]; h != nil {
		return h.Mode
	}
	return op.Mode
}

// fence explains a fence that is not larger than an earlier one: by the events between the two grants without which the later fence would have been
// larger, by the cause of the overlap of the two holds, or by the earlier grant, if it did not count.
func (r *run) fence(v *checker.Violation) Answer {
	holds := r.holding(v)
	if len(holds) < 2 {
		return Answer{}
	}
	first, second := holds[0], holds[len(holds)-1]
	return firstOf(
		func() Answer { return r.counted(first, second, (*overlap).loweredBy) },
		func() Answer { return r.overlap(v, holds, r.apart) }, // if the holds did not overlap, the end of one does not explain the fence of the other
		func() Answer { return r.counted(first, second, (*overlap).uncounted) })
}

// fences explains the fences of the grants that a violation shows, if one of them is not larger than an earlier one.
func (r *run) fences(v *checker.Violation) Answer {
	holds := r.holding(v)
	for j, second := range slices.Backward(holds) {
		for _, first := range slices.Backward(holds[:j]) {
			if second.Fence == 0 || second.Fence > first.Fence {
				continue
			}
			for _, experiment := range []func(*overlap, pairing) Answer{(*overlap).loweredBy, (*overlap).uncounted} {
				if a := r.counted(first, second, experiment); a.Cause != "" {
					return a
				}
			}
		}
	}
	return Answer{}
}

// counted explains the fences of two grants by an experiment at a node that granted both.
func (r *run) counted(first, second *history.Operation, experiment func(*overlap, pairing) Answer) Answer {
	m := &overlap{run: r, first: first, second: second}
	for _, p := range common(r.attempts(first), r.attempts(second)) {
		if p.doubtful() || p.second.time() < p.first.time() {
			continue
		}
		if a := experiment(m, p); a.Cause != "" {
			return a
		}
	}
	return Answer{}
}

func (m *overlap) loweredBy(p pairing) Answer {
	found := m.lowered(p)
	if len(found) == 0 {
		return Answer{}
	}
	return nearest(found).because(Name(m.second.Client), " would have been refused, or given a fence larger than ", strconv.FormatUint(m.first.Fence, 10))
}

// uncounted explains the second's fence by the first's grant if that did not count: without it, the second would have been given the same.
func (m *overlap) uncounted(p pairing) Answer {
	if m.fenced(p.second, p.first.events) != m.second.Fence {
		return Answer{}
	}
	return because(verdicts.FenceReused, sentence("without ", words(p.first.granting()), ", ", Name(m.second.Client), " would have been given fence ",
		strconv.FormatUint(m.second.Fence, 10), " as well: that grant did not count"), p.first.reported(), p.second.reported())
}

// lowered finds the events between the two grants without which the second's fence would have been larger than the first's: each that suffices alone, or
// the fewest that do together. It skips acquires, which only increase the fence.
func (m *overlap) lowered(p pairing) (found []finding) {
	larger := func(left []int) bool { return m.fenced(p.second, left) > m.first.Fence }
	var all []int
	for _, i := range m.candidates(p) {
		e := &p.first.node.events[i]
		if e.op != nil && e.op.Op == history.Acquire {
			continue
		}
		switch refused := m.lacks(p, i, without{events: []int{i}}); {
		case refused && e.effect == nil: // without this release the second is refused, which shows nothing about fences
		case refused, larger([]int{i}):
			found = append(found, m.fenceFinding(p, i))
		default:
			all = append(all, i)
		}
	}
	faults := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return p.first.node.events[i].effect == nil })
	refused := func(left []int) bool { return m.lacks(p, left[0], without{events: left}) }
	var few []int
	switch {
	case len(found) > 0 || len(all) == 0:
		return found
	case larger(all):
		few = fewest(all, larger)
	case len(faults) > 0 && refused(faults):
		few = fewest(faults, refused)
	}
	for _, i := range few {
		found = append(found, m.fenceFinding(p, i))
	}
	return jointly(found)
}

func (m *overlap) fenceFinding(p pairing, i int) finding {
	f := m.finding(p, i)
	if p.first.node.events[i].ended() { // the lease of no hold: the second would have been granted anyway
		f.name = verdicts.CountExpired
	}
	return f
}

// fenced returns the fence that an attempt gets without some events: the largest number at a place at which the recorded reply has its fence. It is 0 if
// the attempt is refused then.
func (m *overlap) fenced(a *attempt, left []int) (fence uint64) {
	m.newReplay(a, left[0], without{events: left}).again(a, func(e *event, reply string, changes []change) bool {
		if m.refuses(a, e, reply, changes) {
			fence = 0
			return false
		}
		was, is := numbers(e.cmd.Reply), numbers(reply)
		for i := range was {
			if was[i] == a.op.Fence && len(is) == len(was) {
				fence = max(fence, is[i])
			}
		}
		return true
	})
	return fence
}

// numbers returns the numbers in a reply.
func numbers(reply string) (all []uint64) {
	for _, word := range strings.FieldsFunc(reply, func(c rune) bool { return c < '0' || c > '9' }) {
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// ownHold explains the loss of a client's own hold: by the event without which an extend, a re-entry or a release that the client called before an
// instant would have had another reply or effect. The operations that show the violation come before the others of its holds.
func (r *run) ownHold(v *checker.Violation, client string, by int64) Answer {
	for _, o := range slices.Backward(slices.Concat(v.Witness.All(), v.Witness.Operations)) {
		op := r.ops[o.ID]
		if op == nil || op.Client != client || op.Call > by || op.Op == history.Use || op.Op == history.Write || op.Op == history.Lost {
			continue
		}
		if !r.sent(op) && op.Op == history.Acquire && op.Outcome == history.OK {
			return r.noCommand(op)
		}
		if a := r.taken(op); a.Cause != "" {
			return a
		}
	}
	return Answer{}
}

// taken returns what ended the hold of an operation.
func (r *run) taken(op *history.Operation) Answer {
	hold := r.under(op)
	if op.Op == history.Acquire { // a new grant does not belong to a released hold
		hold = r.heldBefore(op)
	}
	if hold == nil || hold.ID == op.ID {
		return Answer{}
	}
	m := &overlap{run: r, first: hold, second: op, seen: op.Return}
	var found []finding
	var request Event
	for _, a := range r.attempts(hold) {
		for _, i := range a.node.byOp[op.ID] {
			e := &a.node.events[i]
			p := pairing{a, &attempt{op: op, node: a.node, events: []int{i}, grant: i}}
			if e.open || len(e.touched) == 0 || e.cmd.Failed() || a.grant < 0 || i < p.from() || p.doubtful() {
				continue
			}
			if clocks := r.byWrongClocks(func(right []string) bool { return r.finds(p.second, a.events[0], without{right: right}) },
				Name(op.Client), "'s ", called(e.cmd), " at ", Instant(e.at), " would have found its hold"); clocks.Cause != "" {
				clocks.Events = []Event{a.node.report(i, p.second.keys())}
				return clocks
			}
			if took := m.took(p); len(took) > 0 {
				found, request = append(found, took...), a.node.report(i, p.second.keys())
			}
		}
	}
	if len(found) == 0 {
		return r.neverMade(hold)
	}
	answer := nearest(found).because(Name(op.Client), "'s ", called(request.Command), " at ", Instant(request.At), " would have found its hold")
	answer.Events = append(answer.Events, request)
	return answer
}

// took returns the events without each of which the second, an operation of the first's client, finds the first's hold; if there are none, the fewest that
// do together. A command that changed only what its own client had written, and the first had not, took nothing.
func (m *overlap) took(p pairing) (found []finding) {
	n := p.first.node
	all := slices.DeleteFunc(m.candidates(p), func(i int) bool {
		if n.events[i].deletes() && n.events[i].at > m.leaseEnd(p, i) { // it took what another had written since
			return true
		}
		if m.gone(p, i) || n.events[i].adds() && n.events[i].cmd.Client == m.first.Client { // it took nothing
			return true
		}
		wrote, by := n.writers(i), n.events[i].cmd
		return by != nil && by.Client != m.first.Client && len(wrote) > 0 && !slices.ContainsFunc(wrote, func(w *event) bool { return w.cmd.Client != by.Client }) &&
			!slices.ContainsFunc(n.events[i].changes, func(c change) bool { return m.wrote(p.first, c) })
	})
	for _, i := range all {
		if m.finds(p.second, i, without{events: []int{i}}) {
			found = append(found, m.finding(p, i))
		}
	}
	direct := slices.DeleteFunc(slices.Clone(found), func(f finding) bool {
		e := &n.events[f.event]
		return e.cmd == nil && !e.deletes() || !slices.ContainsFunc(n.writers(f.event), func(w *event) bool { return w.op == m.first })
	})
	if len(direct) > 0 { // without the others, those would have taken something else
		return direct
	}
	if len(found) > 0 {
		return found
	}
	wider := slices.DeleteFunc(m.between(p), func(i int) bool {
		e := &n.events[i]
		return !slices.Contains(all, i) && (e.cmd == nil || !slices.ContainsFunc(e.changes, change.freed))
	})
	for _, all := range [][]int{all, wider} { // what took another's may take the first's when what did take it is left out
		all = slices.DeleteFunc(slices.Clone(all), func(i int) bool { return n.events[i].cmd != nil && n.events[i].cmd.Client == m.first.Client }) // its renewals keep the hold
		if len(all) < 2 {
			continue
		}
		if found = m.jointlyOf(p, all, func(left []int) bool { return m.finds(p.second, left[0], without{events: left}) }); len(found) > 0 {
			return found
		}
	}
	return nil
}

// neverMade explains the loss of a hold that no server had: the command that its client took for a grant set nothing.
func (r *run) neverMade(hold *history.Operation) Answer {
	all := r.attempts(hold)
	if len(all) != 1 || !r.setsNothing(all[0]) {
		return Answer{}
	}
	return firstOf(
		func() Answer { return r.wouldSet(all[0]) },
		func() Answer { return r.setNothing(all[0]) })
}

// wouldSet explains a grant that set nothing by a clock that was wrong, of the node or of the client: what it set was over at once. One that found the lock
// held set nothing for that reason.
func (r *run) wouldSet(a *attempt) Answer {
	e := a.granting()
	free := maps.Clone(a.node.state(a.first()))
	maps.DeleteFunc(free, func(key string, _ *Value) bool { return slices.Contains(e.touched, key) })
	r.m.load(free, e.clock)
	if _, changes, _ := r.send(e.cmd, e.at, r.asks.of(e.cmd)); len(changes) > 0 {
		return Answer{}
	}
	sets := func(left without) bool { _, changes := r.answered(a, a.events[0], left); return len(changes) > 0 }
	effect := sentence(Name(a.op.Client), "'s ", called(e.cmd), " at ", Instant(e.at), " would have set something")
	var clocks []int
	for i := range a.node.events[:a.events[0]] {
		if a.node.events[i].setsClock() {
			clocks = append(clocks, i)
		}
	}
	right := func(left []int) bool { return len(left) > 0 && sets(without{events: left}) }
	if right(clocks) {
		var all []statement
		few := fewest(clocks, right)
		for _, i := range few {
			all = append(all, words(&a.node.events[i]))
		}
		c := &a.node.events[few[len(few)-1]]
		return because(faultNames[c.effect.What], sentence("without ", listed(all), ", ", effect), c.reported("", nil), a.reported())
	}
	return r.byWrongClocks(func(right []string) bool { return sets(without{right: right}) }, effect)
}

// setNothing returns the answer for a grant that set nothing.
func (r *run) setNothing(a *attempt) Answer {
	return because(verdicts.DoubleGrant, sentence(words(a.granting()), " set nothing, and ", Name(a.op.Client), " took that for a grant: there was no hold"), a.reported())
}

// finds reports whether an operation finds its hold only when something is left out, from an event on: if it was refused, it then succeeds; if it
// succeeded, it then has another effect.
func (r *run) finds(a *attempt, from int, left without) bool {
	e := &a.node.events[a.events[0]]
	reply, changes := r.answered(a, from, left)
	switch {
	case a.op == nil || a.op.Outcome == history.OK: // a command in the background has no outcome, only an effect
	case a.op.Op == history.Acquire:
		return r.accepts(e, reply, changes)
	case !r.m.same(e.cmd, reply):
		return true
	}
	return slices.ContainsFunc(changes, func(c change) bool {
		recorded := map[string]Hit{}
		for _, was := range e.changes {
			if was.key == c.key {
				recorded = was.parts()
			}
		}
		for part, hit := range c.parts() {
			if hit != Made && hit != recorded[part] {
				return true
			}
		}
		return false
	})
}
