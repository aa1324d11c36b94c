package checker

import (
	"math"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
)

// plainState is the state of every plain model: how often each client holds, in which mode, and the highest fence.
type plainState struct {
	holds [maxPlainClients]int8 // exclusive; re-entrant and permits: how often
	reads [maxPlainClients]int8 // shared
	maybe [maxPlainClients]int8 // of these, by acquires of unknown outcome
	fence uint64
}

const maxPlainClients = 4

// plainInput is one operation as recorded: the models have no holds, leases or beliefs.
type plainInput struct {
	op      history.Op
	outcome history.Outcome
	client  int
	shared  bool
	fence   uint64
}

// plainModel is the textbook model of a kind of lock without leases: owner-aware mutex, with or without fences; re-entrant mutex; shared and
// exclusive; permits. An operation of unknown outcome takes effect if it can when it is placed, and may be placed last.
func plainModel(h history.Header) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return plainState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(plainState), input.(plainInput)
			switch {
			case in.op == history.Release:
				return plainRelease(s, in)
			case in.outcome == history.Busy:
				return !free(h, s, in), s // for shared and exclusive locks the client's own hold is a reason too
			}
			next, ok := plainAcquire(h, s, in)
			return ok || in.outcome == history.Unknown, next
		},
		Hash: func(state any) uint64 {
			s := state.(plainState)
			sum := s.fence
			for i, n := range s.holds {
				sum = sum*31 + uint64(uint8(n))*7 + uint64(uint8(s.reads[i]))*3 + uint64(uint8(s.maybe[i]))
			}
			return sum
		},
	}
}

// free reports whether an acquire can be granted.
func free(h history.Header, s plainState, in plainInput) bool {
	taken := 0
	for client, n := range s.holds {
		readers := s.reads[client] > 0 && !in.shared
		// A client's own hold does not prevent a grant, except two exclusive ones of a shared and exclusive lock; it may cause a refusal.
		itself := client == in.client && in.outcome != history.Busy && (h.Kind == history.Reentrant || h.Kind == history.RW && (in.shared || n == 0))
		switch {
		case n == 0 && !readers || itself:
		case h.Kind == history.Semaphore:
			taken += int(n)
		default:
			return false
		}
	}
	return h.Kind != history.Semaphore || taken < h.Permits
}

func plainAcquire(h history.Header, s plainState, in plainInput) (plainState, bool) {
	outer := s.holds[in.client] == 0 && s.reads[in.client] == 0
	if !free(h, s, in) || in.fence != 0 && outer && in.fence <= s.fence {
		return s, false
	}
	*s.count(in)++
	if in.outcome == history.Unknown {
		s.maybe[in.client]++
	}
	if outer {
		s.fence = max(s.fence, in.fence)
	}
	return s, true
}

func plainRelease(s plainState, in plainInput) (bool, any) {
	n := s.count(in)
	if *n == 0 {
		return in.outcome == history.Unknown, s
	}
	*n--
	s.maybe[in.client] = min(s.maybe[in.client], s.holds[in.client]+s.reads[in.client])
	return true, s
}

// count is how often the input's client holds in the input's mode.
func (s *plainState) count(in plainInput) *int8 {
	if in.shared {
		return &s.reads[in.client]
	}
	return &s.holds[in.client]
}

// plainSearch asks Porcupine about the operations as they were recorded.
func plainSearch(h history.Header, ops []history.Operation, clients map[string]int) bool {
	var list []porcupine.Operation
	for _, op := range ops {
		end := op.Return
		if op.Outcome == history.Unknown {
			end = math.MaxInt64
		}
		in := plainInput{op.Op, op.Outcome, clients[op.Client], op.Mode == history.Shared, op.Fence}
		list = append(list, porcupine.Operation{ClientId: in.client, Input: in, Call: op.Call, Return: end})
	}
	return porcupine.CheckOperations(plainModel(h), list)
}
