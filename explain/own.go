package explain

import (
	"maps"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// wrongfulEnd explains a release or an extend that was accepted, or a command outside every
// operation: it changed what was another's, or its own hold was gone.
func (r *run) wrongfulEnd(v *checker.Violation) Answer {
	if a := r.hitsAnother(v); a.Cause != "" {
		return a
	}
	client := v.Clients[len(v.Clients)-1]
	for _, n := range inOrder(r.nodes) { // what it sent outside every operation
		for i := n.by(v.At - 1); i < len(n.events) && n.events[i].At == v.At; i++ {
			if e := &n.events[i]; e.Client != client || e.Op != 0 {
				continue
			}
			if a := r.hits(n, i); a.Cause != "" {
				return a
			}
		}
	}
	if a := r.freesNothing(v); a.Cause != "" {
		return a
	}
	return r.ownHold(v, client)
}

// freesNothing explains a release, answered by the nodes, that left its hold's whole mark there.
func (r *run) freesNothing(v *checker.Violation) Answer {
	for _, o := range v.Witness.All() {
		op := r.ops[o.ID]
		if op == nil || op.Op != history.Release {
			continue
		}
		h := r.holdOf(op)
		if h == nil {
			continue
		}
		var left []Key
		gone := false
		for _, m := range r.marks(h) {
			for part, w := range m.parts {
				v, _ := m.node.value(part.key, w.from-1)
				if was, _ := data(v, part.name); counts(was, w.text) { // a fence stays
					continue
				}
				f := r.pair(h, op, op.Return).fateOf(m, part, m.node.by(op.Return))
				gone, left = gone || f.at >= 0, append(left, Key(part.key))
			}
		}
		if !gone && len(left) > 0 {
			return Answer{Cause: verdicts.NoUnlock, Says: sentence("the release of ", Name(op.Client), " left ", slices.Min(left), " there")}
		}
	}
	return Answer{}
}

// hitsAnother explains a release or an extend, of those that show a violation, that changed what
// another client had written.
func (r *run) hitsAnother(v *checker.Violation) Answer {
	for _, o := range v.Witness.All() {
		op := r.ops[o.ID]
		if op == nil || op.Op != history.Release && op.Op != history.Extend {
			continue
		}
		for _, n := range inOrder(r.nodes) {
			for _, i := range n.byOp[op.ID] {
				if a := r.hits(n, i); a.Cause != "" {
					return a
				}
			}
		}
	}
	return Answer{}
}

// hits answers for a command that removed, or renewed, what was another client's.
func (r *run) hits(n *node, i int) Answer {
	for _, c := range n.events[i].Changes {
		for name, text := range inOrder(c.Before.Parts()) {
			now, kept := data(c.After, name)
			if kept && (counts(text, now) && r.shares() || now == text && (c.After.Until == c.Before.Until)) {
				continue
			}
			h := r.victim(n, part{c.Key, name}, i)
			if h == nil {
				continue
			}
			cause := verdicts.MisUnlock
			if h.op.Mode == history.Shared && !kept { // who is renewed by another is not evicted
				cause = verdicts.ReaderEvicted
			}
			would := sentence(Key(c.Key), " would have stayed ", Name(h.op.Client), "'s")
			if kept {
				would = sentence("what ", Name(h.op.Client), " had in ", Key(c.Key), " would have stayed as it was")
			}
			return Answer{Cause: cause, Events: []Event{r.report(n, i, c.Key, h.op.Client)}, Says: sentence("without ", n.words(i, c.Key), ", ", would)}
		}
	}
	return Answer{}
}

// victim returns the hold of another client whose mark a part was, just before an event; nil: none.
func (r *run) victim(n *node, p part, i int) *hold {
	e := &n.events[i]
	for _, h := range slices.Backward(r.holds) {
		if h.granted > e.At || h.op.Client == e.Client || h.release != nil && h.release.Return < e.At {
			continue
		}
		if m := r.marks(h)[n.index]; m != nil {
			if _, its := m.parts[p]; its && r.pair(h, h.op, e.At).fateOf(m, p, i).at < 0 {
				return h
			}
		}
	}
	return nil
}

// ownHold explains a reply that a client's hold was gone: by what ended its mark before that. An
// acquire is such a reply only to a re-entry; if nobody else's mark was in the way of one, it was
// never granted.
func (r *run) ownHold(v *checker.Violation, client string) Answer {
	for _, o := range slices.Backward(v.Witness.All()) {
		op := r.ops[o.ID]
		if op == nil || op.Client != client || op.Op == history.Use || op.Op == history.Write || op.Op == history.Lost ||
			op.Op == history.Acquire && v.Property != verdicts.Reentrancy {
			continue
		}
		if a := r.taken(op); a.Cause != "" {
			return a
		}
		if a := r.denied(op); a.Cause != "" {
			return a
		}
		if op.Op == history.Acquire && op.Outcome != history.OK && !slices.ContainsFunc(r.holds, func(h *hold) bool { return h.outer != nil }) {
			return Answer{Cause: verdicts.NeverGranted, Says: sentence("no re-entry was granted in the whole run")}
		}
	}
	return Answer{}
}

// denied explains a release that freed its hold and says it did not, and an extend that was refused,
// or failed, while its hold's mark was there.
func (r *run) denied(op *history.Operation) Answer {
	h := r.holdOf(op)
	if h == nil || op.Outcome == history.OK || op.Outcome == history.Unknown {
		return Answer{}
	}
	var there []Key
	for _, n := range inOrder(r.nodes) {
		m := r.marks(h)[n.index]
		if m == nil {
			continue
		}
		for part := range m.parts {
			there = append(there, Key(part.key))
		}
		for _, i := range n.byOp[op.ID] {
			for _, c := range n.events[i].Changes {
				if op.Op == history.Release && slices.Contains(there, Key(c.Key)) {
					return Answer{Cause: verdicts.OwnRelease, Says: sentence(n.words(i, c.Key), " was this release, which said that it had not held")}
				}
			}
		}
	}
	if len(there) == 0 || op.Op != history.Extend {
		return Answer{}
	}
	return Answer{Cause: verdicts.NeverGranted, Says: sentence("what ", Name(op.Client), " had in ", slices.Min(there), " was there: the lock refused its own owner")}
}

// taken names what ended the mark of an operation's hold before it.
func (r *run) taken(op *history.Operation) Answer {
	h := r.holdOf(op)
	if h == nil || op.Op == history.Acquire {
		if h = r.heldAt(op.Client, op.Key, op.Call); h == nil {
			return Answer{}
		}
	}
	if h.op == op {
		return Answer{}
	}
	seen := op.Call
	if op.Outcome == history.OK { // it was told that it has it
		seen = op.Return
	}
	p := r.pair(h, op, seen)
	if op.Op == history.Acquire && op.Outcome == history.OK && len(p.try) == 0 {
		return p.answer()
	}
	if f := (fate{at: -1, by: never}); len(p.marks(h)) == 0 && (p.early(&f) || p.drifted(&f)) {
		return p.conclude(f, nil)
	}
	for _, m := range inOrder(p.marks(h)) {
		m = p.copyOn(p.granter(), m)
		to := -1
		for i := range p.try {
			if q := &p.try[i]; q.node == m.node && to < 0 {
				to = q.pos
			}
		}
		for _, part := range slices.SortedFunc(maps.Keys(m.parts), comparePart) {
			if f := p.fateOf(m, part, to); f.at >= 0 || f.by == apart {
				return p.conclude(f, []fate{f})
			}
		}
	}
	return Answer{}
}
