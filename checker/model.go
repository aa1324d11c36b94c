package checker

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
)

// The lease model. Porcupine's Step knows no time, so the ends of holds are operations of their
// own: a hold that was believed until one instant, and possible until another, ends between the
// two. findHolds has decided when these are; only the order is left to search.
//
//	acquire(h)  legal when no conflicting hold is in force and its fence is higher than any before, or for a re-entrant lock as high; h is then in force
//	end(h)      legal when h is in force; it is not any more
//	busy        legal when a conflicting hold is in force, for permits when all are taken
type act uint8

const (
	actAcquire act = iota
	actEnd
	actBusy
)

// move is the input of one operation of the model.
type move struct {
	act    act
	hold   uint32 // number of the hold within the window
	mode   history.Mode
	client uint32
	fence  uint64
}

// lockState is the set of holds in force and the highest fence granted. It is comparable.
type lockState struct {
	holds string // numbers of the holds, four bytes each, ascending
	fence uint64
}

type modelOf struct {
	kind     history.Kind
	permits  int
	acquires []move

	steps atomic.Int64 // moves tried; a search that timed out may still be running
	most  int64        // moves after which the search is given up
}

// step returns the state it was given if that does not change: most moves that a search tries are
// not legal, and to put a lockState into an interface copies it to the heap.
func (m *modelOf) step(state any, in move) (bool, any) {
	s := state.(lockState)
	switch in.act {
	case actAcquire:
		// a re-entry may repeat it
		if m.taken(s, in) || in.fence != 0 && (in.fence < s.fence || in.fence == s.fence && m.kind != history.Reentrant) {
			return false, state
		}
		return true, lockState{s.with(in.hold), max(s.fence, in.fence)}
	case actEnd:
		rest, found := s.without(in.hold)
		if !found {
			return false, state
		}
		return true, lockState{rest, s.fence}
	}
	return m.taken(s, in), state
}

// taken reports whether the holds in force leave no room for in, or may refuse it.
func (m *modelOf) taken(s lockState, in move) bool {
	n := 0
	for i := 0; i < len(s.holds); i += 4 {
		other := m.acquires[binary.BigEndian.Uint32([]byte(s.holds[i:i+4]))]
		counts := mayRefuse(m.kind, other.mode, in.mode)
		if in.act != actBusy {
			counts = Conflict(m.kind, in.client == other.client, other.mode, in.mode)
		}
		if counts {
			n++
		}
	}
	return n >= m.permits
}

func (s lockState) with(hold uint32) string {
	at := 0
	for at < len(s.holds) && binary.BigEndian.Uint32([]byte(s.holds[at:at+4])) < hold {
		at += 4
	}
	return s.holds[:at] + string(binary.BigEndian.AppendUint32(nil, hold)) + s.holds[at:]
}

func (s lockState) without(hold uint32) (string, bool) {
	for at := 0; at < len(s.holds); at += 4 {
		if binary.BigEndian.Uint32([]byte(s.holds[at:at+4])) == hold {
			return s.holds[:at] + s.holds[at+4:], true
		}
	}
	return s.holds, false
}

func (s lockState) hash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(s.holds)) // writing to a hash never fails
	return h.Sum64() ^ s.fence*0x9e3779b97f4a7c15
}

// operations makes the operations of a window for Porcupine.
func (w *window) operations(d *keyInput) (acquires []move, ops []porcupine.Operation, initial lockState) {
	initial.fence = w.fence
	add := func(o *op, began bool) {
		in := move{act: actAcquire, hold: uint32(len(acquires)), mode: o.mode, client: o.client}
		if o.mode == history.Exclusive {
			in.fence = d.k.fence(o)
		}
		acquires = append(acquires, in)
		if began {
			ops = append(ops, operationOf(o, in, w.from))
		} else {
			initial.holds = initial.with(in.hold)
		}
		if !has(w.stay, o) {
			ops = append(ops, w.endOf(d, o, in))
		}
	}
	for i := range w.held {
		add(&w.held[i], false)
	}
	for i := range w.ops {
		if o := &w.ops[i]; o.outcome == history.Busy {
			ops = append(ops, operationOf(o, move{act: actBusy, mode: o.mode, client: o.client}, w.from))
		} else {
			add(o, true)
		}
	}
	return acquires, ops, initial
}

func operationOf(o *op, in move, from int64) porcupine.Operation {
	return porcupine.Operation{ClientId: int(o.client), Input: in, Call: max(o.call, from), Return: o.ret}
}

// endOf makes the operation that ends the belief which began with o, or the hold that outlasts it.
func (w *window) endOf(d *keyInput, o *op, in move) porcupine.Operation {
	in.act, in.fence = actEnd, 0
	end, _ := d.k.beliefEnd(o)
	end = max(end, o.call, w.from)
	if end == never {
		end-- // Porcupine sorts calls before returns; an end that never comes comes after everything
	}
	return porcupine.Operation{ClientId: int(o.client), Input: in, Call: end, Return: max(d.k.holds.at(o.hold).possible, end)}
}

// plainly is for how long Porcupine may search a whole history; windows are given up earlier, by
// the moves tried.
const plainly = 10 * time.Second

// search asks Porcupine whether the window's operations have an order, with a number of moves. It
// also returns the moves tried.
func (w *window) search(d *keyInput, most int64) (porcupine.CheckResult, int64) {
	acquires, ops, initial := w.operations(d)
	m := &modelOf{kind: d.a.header.Kind, permits: Permits(d.a.header), acquires: acquires, most: most}
	model := porcupine.Model{
		Init: func() any { return initial },
		StepContext: func(ctx context.Context, state, input, _ any) (bool, any) {
			if ctx.Err() != nil || m.steps.Add(1) > m.most {
				return false, state
			}
			return m.step(state, input.(move))
		},
		Equal: func(a, b any) bool { return a.(lockState) == b.(lockState) },
		Hash:  func(state any) uint64 { return state.(lockState).hash() },
	}
	found := porcupine.CheckOperationsTimeout(model, ops, plainly)
	tried := m.steps.Load()
	if found == porcupine.Illegal && tried > most {
		found = porcupine.Unknown
	}
	return found, tried
}
