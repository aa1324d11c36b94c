package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// shrinkLimit bounds the operations that are tried one by one.
const shrinkLimit = 64

// shrink drops operations one at a time while the rest shows the same violation for the same cause. The acquires of
// the story's holds stay in any case, and the calls that sent the command it turns on.
func (t *teller) shrink(ev *evidence) []history.Operation {
	ops := t.candidates()
	if len(ops) > shrinkLimit || !t.shows(ev, ops) {
		return ops
	}
	for i := len(ops) - 1; i >= 0; i-- {
		if t.anchor(&ops[i]) {
			continue
		}
		if fewer := slices.Delete(slices.Clone(ops), i, i+1); t.shows(ev, fewer) {
			ops = fewer
		}
	}
	return ops
}

// candidates are the operations of everybody who plays a part, as far as they touch the story's time.
func (t *teller) candidates() []history.Operation {
	var out []history.Operation
	for _, op := range t.s.ops {
		if t.plays(&op) {
			out = append(out, op)
		}
	}
	return out
}

func (t *teller) plays(op *history.Operation) bool {
	if slices.ContainsFunc(t.v.Operations, func(o history.Operation) bool { return o.ID == op.ID }) || t.anchor(op) {
		return true
	}
	for _, h := range t.cast {
		if h.client() == op.Client && op.Call >= h.acquire.Call && op.Call <= min(h.ended(), t.v.At+t.v.Lasted) {
			return true
		}
	}
	return slices.Contains(t.v.Clients, op.Client) && op.Call <= t.v.At+t.v.Lasted && op.Return >= t.v.At
}

// ended is when the client's release of a hold returned, or else when it stopped believing.
func (h *hold) ended() int64 {
	if h.release != nil {
		return h.release.Return
	}
	return h.end()
}

// anchor reports whether an operation must stay in the story.
func (t *teller) anchor(op *history.Operation) bool {
	for _, h := range t.cast {
		if h.acquire.ID == op.ID {
			return true
		}
	}
	if t.stuck() && op.Op == history.Acquire && slices.Contains(t.v.Clients, op.Client) && op.Call <= t.v.At && op.Return >= plus(t.v.At, t.v.Lasted) {
		return true // the wait that was in vain
	}
	st := t.s.reason.step
	calls := op.Op == history.Acquire || op.Op == history.Release || op.Op == history.Extend
	return st != nil && calls && st.Client == op.Client && op.Call <= st.Sent && st.Sent <= op.Return
}

// shows reports whether some operations alone show the violation for its cause.
func (t *teller) shows(ev *evidence, ops []history.Operation) bool {
	less := &evidence{header: ev.header, index: sliceIndex(ops), commands: t.commandsByClient(), faults: ev.faults}
	s := sceneOf(t.v, less, reach(t.v, ev))
	return s.cause(t.v) == t.cause && s.broken(t.v)
}

// commandsByClient are the commands of the scene. They are the same for every try.
func (t *teller) commandsByClient() map[string][]history.Command {
	if t.commands == nil {
		t.commands = map[string][]history.Command{}
		for i := range t.s.steps {
			st := &t.s.steps[i]
			t.commands[st.Client] = append(t.commands[st.Client], st.Command)
		}
	}
	return t.commands
}

// broken reports whether a scene still shows the overlap that a violation is about. Other properties show in their operations.
func (s *scene) broken(v *Violation) bool {
	inForce := (*hold).believed
	switch v.Property {
	case history.ExclusiveUse:
		inForce = (*hold).inUse
	case history.MutualExclusion:
	case history.StoreIntegrity:
		return slices.ContainsFunc(s.ops, func(op history.Operation) bool { return op.Op == history.Write })
	default:
		return len(s.ops) > 0
	}
	held := s.inForce(v, inForce)
	for i, b := range held {
		for _, a := range held[:i] {
			if conflict(a, b) {
				return true
			}
		}
	}
	return false
}
