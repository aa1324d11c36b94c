package explain

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// owned reports whether an event ended the first's hold. So did the end of the lease that the first's grant depends on, even if another client wrote it,
// as in a hand-over. An event that ended a hold of its own client did not: without that hold too, the second is granted. Nor did one that removed what
// its client had written over the first's hold: without that grant alone, the second is refused. The node's clock stops at an instant; 0: never.
func (m *overlap) owned(p pairing, i int, stop int64) bool {
	n := p.first.node
	e := &n.events[i]
	client, at := "", n.writer(i, e.changes...)
	switch {
	case m.gone(p, i):
		return false
	case m.takesPermit(n, i):
		return true
	case e.cmd != nil:
		client = e.cmd.Client
	case at >= 0 && !m.stands(p, at):
		return true
	case at >= 0:
		client = n.events[at].cmd.Client
	}
	if client == m.first.Client && !m.endsOther(p, i) {
		return true
	}
	ops, from := m.holdsOf(p, client, i)
	if len(ops) == 0 {
		return true
	}
	from = min(from, i)
	if at >= 0 && n.events[at].op != nil && slices.Contains(ops, n.events[at].op.ID) && m.conflicts(ops) && m.lacks(p, from, without{ops: ops, stop: stop}) {
		return false
	}
	return m.lacks(p, from, without{events: []int{i}, ops: ops, stop: stop})
}

// gone reports whether a command of the first's client removed or changed only what was not of the first's hold: something had removed that before, and no
// renewal had made it again, or others had made it since.
func (m *overlap) gone(p pairing, i int) bool {
	n := p.first.node
	if e := &n.events[i]; i < p.from() || e.cmd == nil || e.cmd.Client != m.first.Client || e.adds() {
		return false
	}
	removed := map[keyPart]bool{}
	for j := p.from(); j < i; j++ {
		e := &n.events[j]
		again := e.cmd != nil && e.cmd.Client == m.first.Client && (e.op == nil || e.op.Op != history.Release)
		for _, c := range e.changes {
			for part, hit := range c.parts() {
				switch {
				case hit == Freed, hit == Made && !again:
					removed[keyPart{c.key, part}] = true
				case again:
					delete(removed, keyPart{c.key, part})
				}
			}
		}
	}
	return !slices.ContainsFunc(n.events[i].changes, func(c change) bool {
		for part, hit := range c.parts() {
			if hit != Made && !removed[keyPart{c.key, part}] {
				return true
			}
		}
		return false
	})
}

// endsOther reports whether an event ended another hold of the first's client. The holds of a re-entrant client are one at the server.
func (m *overlap) endsOther(p pairing, i int) bool {
	acquire, _ := m.endedHold(p, i)
	return m.Header.Kind != history.Reentrant && acquire != 0 && acquire != m.first.ID
}

// conflicts reports whether one of the given acquires must not be granted beside the first.
func (m *overlap) conflicts(ops []uint64) bool {
	return m.Header.Kind != history.Semaphore && slices.ContainsFunc(ops, func(id uint64) bool {
		return m.ops[id].Mode != history.Shared || m.first.Mode != history.Shared
	})
}

// writer returns the index of the last command before the i-th event that wrote a part that the later changes affect, not counting a moved expiry; -1:
// none.
func (n *node) writer(i int, later ...change) int {
	for j, e := range slices.Backward(n.events[:i]) {
		if e.cmd != nil && slices.ContainsFunc(e.changes, func(c change) bool { return !c.renewed() && slices.ContainsFunc(later, c.meets) }) {
			return j
		}
	}
	return -1
}

// writers returns the commands that had last written the parts which the i-th event deleted or overwrote, the latest first.
func (n *node) writers(i int) (all []*event) {
	var left []keyPart
	for _, c := range n.events[i].changes {
		for part, hit := range c.parts() {
			if hit != Made && hit != Renewed {
				left = append(left, keyPart{c.key, part})
			}
		}
	}
	for j := i - 1; j >= 0 && len(left) > 0; j-- {
		e := &n.events[j]
		if e.ended() { // what was there since was written later, or came back
			continue
		}
		for _, c := range e.changes {
			for part, hit := range c.parts() {
				at := slices.Index(left, keyPart{c.key, part})
				if at < 0 || hit == Renewed {
					continue
				}
				left = slices.Delete(left, at, at+1)
				if e.cmd != nil && hit != Freed && !slices.Contains(all, e) {
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// takesPermit reports whether a command removed a permit that its client had not been granted, and whose client believed in it.
func (m *overlap) takesPermit(n *node, i int) bool {
	e := &n.events[i]
	return m.Header.Kind == history.Semaphore && e.cmd != nil && slices.ContainsFunc(n.writers(i), func(w *event) bool {
		if w.op == nil || w.op.Client == e.cmd.Client || m.holdOf[w.op.ID] == nil {
			return false
		}
		its := &m.holdOf[w.op.ID].Acquire
		return min(m.until(its, m.seen), m.releasedAt(its)) > e.at
	})
}

// adds reports whether a command changed nothing that was there.
func (e *event) adds() bool {
	return e.cmd != nil && !slices.ContainsFunc(e.changes, func(c change) bool {
		for _, hit := range c.parts() {
			if hit != Made {
				return true
			}
		}
		return false
	})
}

// givesBack reports whether an event is a release that removed what its own hold had written, and nothing else, or the same by an acquire that came to
// nothing.
func (r *run) givesBack(n *node, i int) bool {
	e := &n.events[i]
	if e.op == nil || e.op.Op == history.Extend || slices.ContainsFunc(e.changes, func(c change) bool { return !c.freed() }) {
		return false
	}
	its, _ := r.began(n, e.op)
	wrote := n.writers(i)
	return its != 0 && len(wrote) > 0 && !slices.ContainsFunc(wrote, func(w *event) bool {
		acquire, _ := r.began(n, w.op)
		return acquire != its
	})
}

// holdsOf returns a client's acquires between the first's grant and an event, and that of the hold which the event released, even if it was granted before
// the first, unless the first's grant needs it.
func (m *overlap) holdsOf(p pairing, client string, to int) (ops []uint64, from int) {
	from = to
	for i := p.from(); i < to; i++ {
		e := &p.first.node.events[i]
		if e.op == nil || e.op.Client != client || e.op.Op != history.Acquire || len(e.changes) == 0 || e.op.ID == m.second.ID || e.op.ID == m.first.ID {
			continue
		}
		if m.refusedBy(p.first.node, i) {
			continue
		}
		from = min(from, i)
		if !slices.Contains(ops, e.op.ID) {
			ops = append(ops, e.op.ID)
		}
	}
	if op := p.first.node.events[to].op; op != nil && op.Op == history.Release {
		id, began := m.began(p.first.node, op)
		if began >= 0 && began < p.from() && id != m.first.ID && m.granted(p.first, began, without{ops: []uint64{id}}) {
			ops, from = append(ops, id), began
		}
	}
	return ops, from
}

// refusedBy reports whether an event belongs to a try of an acquire that was refused, as the client knows: it began no hold.
func (r *run) refusedBy(n *node, i int) bool {
	op := n.events[i].op
	return (op.Outcome == history.OK || op.Outcome == history.Busy) && slices.ContainsFunc(r.vain(op, n), func(try []int) bool { return slices.Contains(try, i) })
}

// began returns the acquire of the hold that an operation belongs to or, if its client does not know of a grant, may have begun, and the acquire's first
// command at a node; -1: none.
func (r *run) began(n *node, op *history.Operation) (acquire uint64, event int) {
	switch {
	case op == nil:
		return 0, -1
	case r.holdOf[op.ID] != nil:
		acquire = r.holdOf[op.ID].Acquire.ID
	case op.Op == history.Acquire:
		acquire = op.ID
	default:
		return 0, -1
	}
	if events := n.byOp[acquire]; len(events) > 0 {
		return acquire, events[0]
	}
	return acquire, -1
}

// beganSince reports whether the hold that an event ended was granted after the first: by the last command of its acquire that had changed something.
func (m *overlap) beganSince(p pairing, i int) bool {
	n := p.first.node
	acquire, _ := m.endedHold(p, i)
	for _, j := range slices.Backward(n.byOp[acquire]) {
		if j < i && len(n.events[j].changes) > 0 {
			return j >= p.from()
		}
	}
	return false
}

// endedHold returns, as began does, the hold that an event ended: that of its release or extend or, of another event, or of a command that the first's
// client sent when its hold was gone, that of the operation that had written there.
func (m *overlap) endedHold(p pairing, i int) (acquire uint64, event int) {
	n := p.first.node
	e := &n.events[i]
	op := e.op
	if at := n.writer(i, e.changes...); at >= 0 && (op == nil || op.Op == history.Acquire || m.gone(p, i)) {
		op = n.events[at].op
	}
	return m.began(n, op)
}
