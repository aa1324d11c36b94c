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
	acquire act = iota // legal without a conflicting hold, if its fence is higher than all before
	leave              // legal during its hold
	refused            // legal during a conflicting hold; for a semaphore, when all permits are taken
)

// state has the current holds, by number, and the highest fence granted. It is comparable.
type state struct {
	holds string // runes, ascending
	fence uint64
}

// model returns the lock of the picture. The output of an operation is its description.
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

// taken reports whether the current holds refuse an acquire.
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

// describe names the clients that hold.
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
