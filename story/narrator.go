package story

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// narrator assembles a story.
type narrator struct {
	v      *checker.Violation
	around *checker.Surroundings
	answer explain.Answer
	when   func(*history.Operation) int64 // the servers granted it
	sent   map[uint64][]*history.Command  // by operation

	holds  []checker.Hold      // of the story, by grant
	base   int64               // the first instant of the story, from which its times count
	to     int64               // the last instant
	shown  []history.Operation // that get lines of their own
	events []event
}

// event is one line of the story.
type event struct {
	at     int64
	rank   int // orders events of one instant
	text   string
	needed bool // never left out for lack of room
}

func (t *narrator) say(at int64, rank int, needed bool, text string) {
	t.events = append(t.events, event{at: at, rank: rank, needed: needed, text: text})
}

// began returns when the servers granted a hold: a story has one order, theirs.
func (t *narrator) began(h *checker.Hold) int64 { return t.when(&h.Acquire) }

// endless reports whether the violation has no end, such as an overlap of holds without leases.
func (t *narrator) endless() bool { return t.v.At+t.v.Lasted == math.MaxInt64 }

// stuck reports whether the violation is that the lock was unavailable.
func (t *narrator) stuck() bool {
	return t.v.Property == verdicts.Progress || t.v.Property == verdicts.Refusal
}

// known returns the instant up to which a story tells what clients knew: that of the violation, or
// the return of a write that overwrote.
func (t *narrator) known() int64 {
	if t.v.Property == verdicts.StoreIntegrity {
		return t.v.At + t.v.Lasted
	}
	return t.v.At
}

// clients returns the clients of the story in order of appearance.
func (t *narrator) clients() (out []string) {
	add := func(c string) {
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, h := range t.holds {
		add(h.Client)
	}
	for _, e := range t.answer.Events {
		if e.Command != nil {
			add(e.Command.Client)
		}
	}
	for _, c := range t.v.Clients {
		add(c)
	}
	return out
}

func (t *narrator) matters(w *history.Window) bool {
	return w.Client == "" || slices.Contains(t.clients(), w.Client)
}

// did returns the effect of a fault that the answer names; nil: none.
func (t *narrator) did(w *history.Window) *explain.Event {
	for i := range t.answer.Events {
		e := &t.answer.Events[i]
		if e.Effect != nil && slices.ContainsFunc(w.Effects, func(o history.Effect) bool {
			return o.At == e.Effect.At && o.What == e.Effect.What && o.Node == e.Effect.Node
		}) {
			return e
		}
	}
	return nil
}

// same reports whether two records are of one operation. It does not compare IDs, which need not be
// unique in a foreign file.
func same(a, b *history.Operation) bool {
	return a.Client == b.Client && a.Op == b.Op && a.Call == b.Call && a.Return == b.Return
}

// covered reports whether a line for a command of the answer already shows an operation. An acquire
// may send many.
func (t *narrator) covered(op *history.Operation) bool {
	return op.Op != history.Acquire && slices.ContainsFunc(t.answer.Events, func(e explain.Event) bool { return e.Command != nil && e.Op != nil && same(e.Op, op) })
}

// grants reports whether an event is the grant of its operation, which the line of the hold shows:
// it removed nothing, and changed nothing of another's.
func (t *narrator) grants(e *explain.Event) bool {
	return e.Op != nil && e.Op.Granted() && !e.HitAnothers() && e.Hit != explain.Freed && e.Hit != explain.Cut && e.At == t.when(e.Op) &&
		slices.ContainsFunc(t.around.Holds, func(h checker.Hold) bool { return same(&h.Acquire, e.Op) })
}

// lastHold returns a client's latest hold at an instant; nil: none.
func (t *narrator) lastHold(client string, at int64) (last *checker.Hold) {
	for i := range t.around.Holds {
		if h := &t.around.Holds[i]; h.Client == client && t.began(h) <= at {
			last = h
		}
	}
	return last
}

// outermost returns the first hold of a client within which it called a re-entry; nil: none.
func (t *narrator) outermost(op *history.Operation) *checker.Hold {
	at := slices.IndexFunc(t.around.Holds, func(h checker.Hold) bool {
		return h.Client == op.Client && !same(&h.Acquire, op) && h.Start() <= op.Call && (h.Release == nil || h.Release.Call >= op.Return)
	})
	if at < 0 {
		return nil
	}
	return &t.around.Holds[at]
}

// ends reports whether an event is the last command of an operation with a line of its own, which
// tells it.
func (t *narrator) ends(e *explain.Event) bool {
	if e.Op == nil || !slices.ContainsFunc(t.shown, func(op history.Operation) bool { return same(&op, e.Op) }) {
		return false
	}
	sent := t.sent[e.Command.Op]
	return len(sent) > 0 && sent[len(sent)-1].Sent == e.Command.Sent && sent[len(sent)-1].Client == e.Command.Client
}
