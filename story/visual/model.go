package visual

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// move is an operation of the model: a grant, the end of a hold, or a refusal.
type move struct {
	act    act
	hold   int
	mode   history.Mode
	client string
	fence  uint64
}

type act uint8

const (
	acquire act = iota // legal when no conflicting hold is in force and its fence is higher than any before
	leave              // legal when its hold is in force
	refused            // legal when a conflicting hold is in force, for permits when all are taken
)

// state is the holds in force, by number, and the highest fence granted. It is comparable.
type state struct {
	holds string // runes, ascending
	fence uint64
}

// model is the lock of the picture, whose operations are described by their output.
func (p *picture) model() porcupine.Model {
	return porcupine.Model{
		Init:              func() any { return state{} },
		Step:              func(s, in, _ any) (bool, any) { return p.step(s.(state), in.(move)) },
		Equal:             func(a, b any) bool { return a == b },
		DescribeOperation: func(_, text any) string { return text.(string) },
		DescribeState:     func(s any) string { return p.describe(s.(state)) },
	}
}

func (p *picture) step(s state, in move) (legal bool, next state) {
	holds := []rune(s.holds)
	at, found := slices.BinarySearch(holds, rune(in.hold))
	switch in.act {
	case leave:
		if !found {
			return false, s
		}
		return true, state{string(slices.Delete(holds, at, at+1)), s.fence}
	case refused:
		return p.taken(holds, in), s
	}
	if p.taken(holds, in) || in.fence != 0 && in.fence <= s.fence {
		return false, s
	}
	return true, state{string(slices.Insert(holds, at, rune(in.hold))), max(s.fence, in.fence)}
}

// taken reports whether the holds in force leave no room for an acquire.
func (p *picture) taken(holds []rune, in move) bool {
	n := 0
	for _, hold := range holds {
		held := p.acquires[hold]
		if same := held.client == in.client; checker.Conflict(p.header.Kind, same && in.act == acquire, held.mode, in.mode) {
			n++
		}
	}
	return n >= checker.Permits(p.header)
}

// describe says which clients hold.
func (p *picture) describe(s state) string {
	if s.holds == "" {
		return "free"
	}
	text := "held by"
	for _, hold := range s.holds {
		text += " " + p.acquires[hold].client
	}
	if s.fence > 0 {
		text += fmt.Sprintf(", highest fence %d", s.fence)
	}
	return text
}
