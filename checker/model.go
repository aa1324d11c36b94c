package checker

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
)

// The lease model. Porcupine's Step knows no time, so the ends of holds are operations of their
// own: a hold that was believed until one instant, and possible until another, ends between the
// two. findHolds has decided when these are; only the order is left to search.
//
//	grant(h)    legal when no conflicting hold is in force and its fence is higher than any before, or for a re-entrant lock as high; h is then in force
//	end(h)      legal when h is in force; it is not any more
//	refusal     legal when a conflicting hold is in force, for permits when all are taken

// move is the input of one operation of the model: a grant, unless it says otherwise.
type move struct {
	end, refusal bool
	hold         uint32 // number of the hold within the window
	mode         history.Mode
	client       uint32
	fence        uint64
}

// lockState is the set of holds in force and the highest fence granted. It is comparable.
type lockState struct {
	holds string // numbers of the holds, four bytes each, ascending
	fence uint64
}

// place returns where a hold is in the set, or belongs.
func (s lockState) place(hold uint32) (at int, in bool) {
	for ; at < len(s.holds); at += 4 {
		if n := binary.BigEndian.Uint32([]byte(s.holds[at : at+4])); n >= hold {
			return at, n == hold
		}
	}
	return at, false
}

type modelOf struct {
	kind    history.Kind
	permits int
	grants  []move

	steps atomic.Int64 // moves tried; a search that timed out may still be running
	most  int64        // moves after which the search is given up
}

// step returns the state it was given if that does not change: most moves that a search tries are
// not legal, and to put a lockState into an interface copies it to the heap.
func (m *modelOf) step(state any, in move) (bool, any) {
	s := state.(lockState)
	switch {
	case in.refusal:
		return m.taken(s, in), state
	case in.end:
		at, held := s.place(in.hold)
		if !held {
			return false, state
		}
		return true, lockState{s.holds[:at] + s.holds[at+4:], s.fence}
	case m.taken(s, in), in.fence != 0 && in.fence < s.fence:
		return false, state
	case in.fence != 0 && in.fence == s.fence && m.kind != history.Reentrant: // a re-entry may repeat it
		return false, state
	}
	at, _ := s.place(in.hold)
	return true, lockState{s.holds[:at] + string(binary.BigEndian.AppendUint32(nil, in.hold)) + s.holds[at:], max(s.fence, in.fence)}
}

// taken reports whether the holds in force leave no room for in, or may refuse it.
func (m *modelOf) taken(s lockState, in move) bool {
	n := 0
	for i := 0; i < len(s.holds); i += 4 {
		other := m.grants[binary.BigEndian.Uint32([]byte(s.holds[i:i+4]))]
		counts := mayRefuse(m.kind, other.mode, in.mode)
		if !in.refusal {
			counts = Conflict(m.kind, in.client == other.client, other.mode, in.mode)
		}
		if counts {
			n++
		}
	}
	return n >= m.permits
}

// window is a stretch of one key's history that is searched by itself.
type window struct {
	from  int64  // calls before this instant count as made at it
	held  []op   // grants in force at from
	fence uint64 // highest fence granted before from
	ops   []op   // grants and refusals
	stay  []op   // grants still in force at the end of the window, which the next one ends
	open  bool   // it has a refusal that no single hold explains
	odd   []op   // the first operations whose beliefs conflict; nil: none do
	lost  bool   // it is too long, and its operations were dropped
}

func has(list []op, o *op) bool {
	return slices.ContainsFunc(list, func(x op) bool { return x.line == o.line })
}

func drop(list []op, o *op) []op {
	return slices.DeleteFunc(list, func(x op) bool { return x.line == o.line })
}

// operations makes the operations of a window for Porcupine.
func (w *window) operations(d *keyInput) (grants []move, ops []porcupine.Operation, initial lockState) {
	initial.fence = w.fence
	add := func(o *op, asked bool) {
		in := move{hold: uint32(len(grants)), mode: o.mode, client: o.client}
		if o.mode == history.Exclusive {
			in.fence = d.k.fence(o)
		}
		grants = append(grants, in)
		if asked {
			ops = append(ops, porcupine.Operation{ClientId: int(o.client), Input: in, Call: max(o.call, w.from), Return: o.ret})
		} else {
			initial.holds += string(binary.BigEndian.AppendUint32(nil, in.hold))
		}
		if has(w.stay, o) {
			return
		}
		in.end, in.fence = true, 0 // of the belief that began with o, or the hold that outlasts it
		end, _ := d.k.beliefEnd(o)
		end = max(end, o.call, w.from)
		if end == never {
			end-- // Porcupine sorts calls before returns; an end that never comes comes after everything
		}
		ops = append(ops, porcupine.Operation{ClientId: int(o.client), Input: in, Call: end, Return: max(d.k.holds.at(o.hold).possible, end)})
	}
	for i := range w.held {
		add(&w.held[i], false)
	}
	for i := range w.ops {
		o := &w.ops[i]
		if o.outcome != history.Busy {
			add(o, true)
			continue
		}
		in := move{refusal: true, mode: o.mode, client: o.client}
		ops = append(ops, porcupine.Operation{ClientId: int(o.client), Input: in, Call: max(o.call, w.from), Return: o.ret})
	}
	return grants, ops, initial
}

// plainly is for how long Porcupine may search a whole history; windows are given up earlier, by
// the moves tried.
const plainly = 10 * time.Second

// search asks Porcupine whether the window's operations have an order, with a number of moves. It
// also returns the moves tried.
func (w *window) search(d *keyInput, most int64) (porcupine.CheckResult, int64) {
	grants, ops, initial := w.operations(d)
	m := &modelOf{kind: d.a.header.Kind, permits: Permits(d.a.header), grants: grants, most: most}
	model := porcupine.Model{
		Init: func() any { return initial },
		StepContext: func(ctx context.Context, state, input, _ any) (bool, any) {
			if ctx.Err() != nil || m.steps.Add(1) > m.most {
				return false, state
			}
			return m.step(state, input.(move))
		},
		Equal: func(a, b any) bool { return a.(lockState) == b.(lockState) },
		Hash: func(state any) uint64 {
			s, h := state.(lockState), fnv.New64a()
			h.Write([]byte(s.holds)) // writing to a hash never fails
			return h.Sum64() ^ s.fence*0x9e3779b97f4a7c15
		},
	}
	found := porcupine.CheckOperationsTimeout(model, ops, plainly)
	tried := m.steps.Load()
	if found == porcupine.Illegal && tried > most {
		found = porcupine.Unknown
	}
	return found, tried
}
