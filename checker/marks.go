package checker

import (
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// The mark of a hold is what the commands of its granting try, and renewals of it, wrote on the
// nodes: strings, and fields, members and elements of other keys. marks follows what the nodes
// executed, in their order, and knows at each instant whose mark a part of their data is.
//
// If some of what they wrote carries the hold's token, only that is the mark; the rest, such as a
// counter of fences, is not. If nothing does, all of it is the mark where one client holds, and
// none where several may (readers, permits); and overwriting it is no harm to a hold that has a
// token. The lease of a key is that of a hold if everything in the key is its mark.

// part is a string, or a field, member or element of a key, on a node.
type part struct {
	node       int
	key, field string
}

// wrong is an effect of a release, an extend or a background command on the mark of another's hold.
type wrong struct {
	victim uint32 // hold
	client string // that did it
	at     int64
	by     op // line 0: no operation
}

// marks is what of the nodes' data is some hold's mark.
type marks struct {
	d       *keyInput
	ops     map[uint64]op     // by id, those of the key that ask something of the lock
	owner   map[part]uint32   // hold
	carries map[uint32]bool   // holds of which some part has the token
	parts   map[uint32][]part // by hold
	gone    map[uint32]int64  // by hold: when the last part of its mark was removed or overwritten
	did     map[uint32]bool   // by line: releases that changed their own mark
	unsure  map[uint32]bool   // by line: releases and extends that changed another's after a fault of its node
	wrongs  []wrong
	behind  int // background commands that changed a mark or its lease
}

// follow returns what the effects of a record show of a key's marks; nil if it has none.
func (d *keyInput) follow() *marks {
	if d.ev.effects == nil {
		return nil
	}
	m := &marks{d: d, ops: map[uint64]op{}, owner: map[part]uint32{}, carries: map[uint32]bool{}, parts: map[uint32][]part{},
		gone: map[uint32]int64{}, did: map[uint32]bool{}, unsure: map[uint32]bool{}}
	for place := range d.a.walk(d.k) {
		if o := d.k.op(place); o.kind == history.Acquire || o.kind == history.Extend || o.kind == history.Release {
			m.ops[d.a.id(o.line)] = o
		}
	}
	for i := range d.ev.effects {
		if e := &d.ev.effects[i]; !e.Copied {
			m.apply(e)
		}
	}
	return m
}

func (m *marks) apply(e *history.Executed) {
	by := m.ops[e.Op]
	if e.Op != 0 && by.line == 0 && e.Client != "" {
		by.kind = history.OpInvalid // of another lock's key
	}
	behind := false
	for i := range e.Changes {
		c := &e.Changes[i]
		before, after := c.Before.Parts(), c.After.Parts()
		for _, field := range slices.Sorted(maps.Keys(before)) {
			was := before[field]
			if now, still := after[field]; still && now == was {
				continue
			}
			p := part{e.Node, c.Key, field}
			hold := m.owner[p]
			if hold == 0 {
				continue
			}
			behind = true
			_, overwritten := after[field]
			m.blame(e, by, hold, overwritten)
			if by.hold == hold && by.kind == history.Release {
				m.did[by.line] = true
			}
			delete(m.owner, p)
			if !slices.ContainsFunc(m.parts[hold], func(p part) bool { return m.owner[p] == hold }) {
				m.gone[hold] = e.At
			}
		}
		if c.Before != nil && c.After != nil && c.Before.Until != c.After.Until {
			if hold := m.sole(e.Node, c.Key, before); hold != 0 {
				behind = true
				m.blame(e, by, hold, false)
			}
		}
		for _, field := range slices.Sorted(maps.Keys(after)) {
			now := after[field]
			if was, known := before[field]; !known || was != now {
				m.write(e, &by, part{e.Node, c.Key, field}, now)
			}
		}
	}
	if behind && e.Op == 0 && e.Client != "" {
		m.behind++
	}
}

// sole returns the hold of which everything in a key is the mark; 0: none.
func (m *marks) sole(node int, key string, parts map[string]string) (hold uint32) {
	for field := range parts {
		its := m.owner[part{node, key, field}]
		if its == 0 || hold != 0 && its != hold {
			return 0
		}
		hold = its
	}
	return hold
}

// blame notes that a release, an extend or a background command changed the mark of a live hold
// that is not its client's, or not of its token. After a fault that may have taken the hold, or
// moved its end, whether it was live is not known.
func (m *marks) blame(e *history.Executed, by op, hold uint32, overwritten bool) {
	h := m.d.k.holds.at(hold)
	began := m.d.k.op(h.began)
	background := e.Op == 0 && e.Client != ""
	switch {
	case by.kind != history.Release && by.kind != history.Extend && !background:
		return
	case hold == by.hold, by.token != 0 && by.token == h.token, began.ret >= e.At:
		return
	case m.d.a.client(&began) == e.Client && (background || h.token == 0 || by.token == 0 || m.d.a.header.Kind == history.Reentrant):
		return
	case !m.carries[hold] && (manyMayHold(m.d.a.header, began.mode) || overwritten && h.token != 0):
		return
	case m.d.k.certainUntil(h) <= e.At:
		m.unsure[by.line] = m.unsure[by.line] || m.d.ev.loses(m.d.a.client(&began), began.call) <= e.At
		return
	}
	m.wrongs = append(m.wrongs, wrong{hold, e.Client, e.At, by})
}

// write makes a part the mark of the hold whose granting try or renewal wrote it.
func (m *marks) write(e *history.Executed, by *op, p part, value string) {
	its := by.granted() && e.At >= m.d.k.asked(by) || by.kind == history.Extend
	if !its || by.hold == 0 {
		return
	}
	token := ""
	if t := m.d.k.holds.at(by.hold).token; t != 0 {
		token = m.d.a.tokens.text(t)
	}
	carries := token != "" && (strings.Contains(p.field, token) || strings.Contains(value, token))
	switch {
	case carries && !m.carries[by.hold]: // what it wrote before is no part of its mark
		for _, old := range m.parts[by.hold] {
			if m.owner[old] == by.hold {
				delete(m.owner, old)
			}
		}
		m.carries[by.hold], m.parts[by.hold] = true, nil
	case !carries && m.carries[by.hold]:
		return
	}
	m.owner[p] = by.hold
	m.parts[by.hold] = append(m.parts[by.hold], p)
	delete(m.gone, by.hold)
}
