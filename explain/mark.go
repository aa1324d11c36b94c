package explain

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// mark is what a grant left at one node: the parts that the commands of its try wrote.
type mark struct {
	node  *node
	parts map[part]written
	end   int   // the event after the try
	home  *mark // of which this is the copy on another node; nil: it is none
}

// written is what a try wrote in a part, and the event after that.
type written struct {
	text string
	from int
}

// marks returns the marks of an acquire or an extend, by node. Those of a re-entry that sent
// nothing are those of the hold around it.
func (r *run) marks(h *hold) map[int]*mark {
	if len(r.try(h.op, math.MaxInt64)) == 0 && h.outer != nil {
		return r.marks(h.outer)
	}
	op, out := h.op, map[int]*mark{}
	for _, q := range r.try(op, math.MaxInt64) {
		m := out[q.node.index]
		if m == nil {
			m = &mark{node: q.node, parts: map[part]written{}}
			out[q.node.index] = m
		}
		after := q.pos
		if q.event != nil {
			after++
		}
		m.end = max(m.end, after)
		for p := range q.wrote() {
			v, _ := q.node.value(p.key, after)
			text, _ := data(v, p.name)
			m.parts[p] = written{text, after}
		}
	}
	for i, m := range out {
		m.addTokens(op.Token)
		m.dropUndone(op)
		if len(m.parts) == 0 {
			delete(out, i)
		}
	}
	return out
}

// dropUndone keeps the parts that no client had removed after the try; if there is none, those that
// the try did not remove itself; else all.
func (m *mark) dropUndone(op *history.Operation) {
	kept := map[part]written{}
	for p, w := range m.parts {
		v, by := m.node.value(p.key, m.end)
		if _, there := data(v, p.name); there || by >= 0 && m.node.events[by].Effect != "" {
			kept[p] = w
		}
	}
	if len(kept) > 0 {
		m.parts = kept
		return
	}
	for p, w := range m.parts {
		undone := slices.ContainsFunc(m.node.byKey[p.key], func(i int) bool {
			_, there := data(m.node.change(i, p.key).After, p.name)
			return i >= w.from && i < m.end && m.node.events[i].op == op && !there
		})
		if !undone {
			kept[p] = w
		}
	}
	if len(kept) > 0 || op.Outcome != history.OK {
		m.parts = kept
	}
}

// wrote returns the parts that a request set, and those beside them that it found as it would have
// set them; all that it found so, if it changed nothing though it was granted.
func (q *query) wrote() map[part]bool {
	out := map[part]bool{}
	if q.event != nil {
		for i := range q.event.Changes {
			c := &q.event.Changes[i]
			for p := range set(c) {
				before, had := data(c.Before, p.name)
				after, _ := data(c.After, p.name)
				// of a key that several share, only the end moved: what it does not name is others'
				if others := had && before == after && len(c.After.Parts()) > 1; !others || slices.Contains(q.cmd.Args, p.name) {
					out[p] = true
				}
			}
			for name, text := range c.After.Parts() {
				if len(text) >= 8 && slices.Contains(q.cmd.Args, text) { // shorter ones may be anything's
					out[part{c.Key, name}] = true
				}
			}
		}
	}
	if len(out) == 0 && q.cmd.Accepted() && resp.IsWrite(q.cmd.Name) && q.cmd.Script == "" {
		for _, key := range resp.Keys(append([]string{q.cmd.Name}, q.cmd.Args...)) {
			v, _ := q.node.value(key, q.pos)
			for name := range v.Parts() {
				out[part{key, name}] = true
			}
		}
	}
	return out
}

// fateOf returns the first event from one on, and before another, that removed or overwrote a part,
// unless its own client set it again after that.
func (w *pair) fateOf(m *mark, p part, to int) fate {
	f := fate{part: p, text: m.parts[p].text, node: m.node, at: -1, by: there}
	arrived := m.home == nil || w.holds(m, p, m.parts[p].from)
	for _, i := range m.node.byKey[p.key] {
		e := &m.node.events[i]
		if i < m.parts[p].from || i >= to {
			continue
		}
		c := m.node.change(i, p.key)
		before, was := data(c.Before, p.name)
		text, is := data(c.After, p.name)
		if !arrived {
			arrived = is && text == f.text && e.Client == w.first.op.Client
			continue
		}
		// a command of its client's other than the second grant, or a release, may renew it
		keeps := e.Effect == "" && e.Client == w.first.op.Client &&
			(e.op == nil || e.op.Op != history.Release && e.op != w.second)
		joins := w.Header.Kind == history.RW && w.first.op.Mode == history.Shared &&
			e.op != nil && e.op.Op == history.Acquire && e.op.Mode == history.Shared
		switch {
		case is && keeps && (f.at < 0 || !was): // renewed, or made again
			f.text, f.at, f.by = text, -1, there
		case f.at >= 0:
		case is && was && joins: // another reader's acquire takes its place in what they share
			f.text = text
		case !is && was, is && text != before && !counts(before, text):
			f.at, f.by = i, w.endBy(w.first, e)
		}
	}
	if f.by == expired {
		f = w.hastened(m, f)
	}
	if m.home == nil || f.at >= 0 || w.holds(m, p, to) {
		return f
	}
	// its node never had it: it was promoted without it, or had been before
	f.by = apart
	f.was, _ = m.home.node.value(f.key, m.home.parts[p].from)
	for i := m.parts[p].from; i < to; i++ {
		if m.node.events[i].Effect == history.Promoted {
			f.by, f.at = history.Promoted, i
		}
	}
	return f
}

// holds reports whether a part was there before an event as the first's client had made it.
func (p *pair) holds(m *mark, its part, before int) bool {
	v, by := m.node.value(its.key, before)
	text, there := data(v, its.name)
	return there && text == m.parts[its].text && by >= 0 && m.node.events[by].Client == p.first.op.Client
}

// copyOn returns the mark as another node should have copied it, if the nodes are copies of one.
func (p *pair) copyOn(n *node, m *mark) *mark {
	if !p.Header.Copies || n == nil || n == m.node {
		return m
	}
	out := &mark{node: n, parts: map[part]written{}, home: m}
	for at, w := range m.parts {
		from := n.by(p.first.granted)
		if w.from > 0 && w.from <= len(m.node.events) {
			from = n.by(m.node.events[w.from-1].At)
		}
		out.parts[at] = written{w.text, from}
	}
	return out
}

// endBy returns what kind of end an event is to a hold.
func (r *run) endBy(h *hold, e *event) end {
	switch {
	case e.Effect != "":
		return end(e.Effect)
	case e.Client == "":
		return strangers
	case e.Client == h.op.Client:
		return byItself
	case e.op != nil && e.op.Op == history.Acquire && !r.releases[history.KindOf(e.Name, e.Script)]:
		return taken
	}
	return freed
}

// hastened replaces the end of a lease by the event that had set it to an earlier instant, if that
// was not a renewal of its own.
func (p *pair) hastened(m *mark, f fate) fate {
	due := m.node.change(f.at, f.key).Before.Until
	for _, i := range slices.Backward(m.node.byKey[f.key]) {
		if i >= f.at || i < m.parts[f.part].from {
			continue
		}
		c, e := m.node.change(i, f.key), &m.node.events[i]
		if c.Before == nil || c.After == nil || c.After.Until != due {
			break
		}
		if c.Before.Until == due {
			continue
		}
		if by := p.endBy(p.first, e); (by != byItself || e.op != nil && e.op.Op == history.Release) && (c.Before.Until == 0 || c.Before.Until > p.at && due < c.Before.Until) {
			f.at, f.by = i, by
		}
		break
	}
	return f
}

// addTokens adds the parts that carry a hold's token: another client's release may have handed the
// lock over to it.
func (m *mark) addTokens(token string) {
	if len(token) < 8 { // shorter ones may be anything's
		return
	}
	for key := range m.node.byKey {
		v, _ := m.node.value(key, m.end)
		for name, text := range v.Parts() {
			if name == token || text == token {
				m.parts[part{key, name}] = written{text, m.end}
			}
		}
	}
}
