package checker

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// linearizability: Porcupine finds an order of the grants, the ends of holds and the refusals,
// under the model of model.go. It asks for all of them together what the other rules ask for each.
//
// It searches the windows in which beliefs conflict, up to a number for each key; those with a
// refusal that no single hold explains, which mutexes do not have; and a random sample of the
// others. An opportunity is a window that was searched. Windows that are too long, or whose search
// took too many moves, are counted, and those of them with such a refusal are not judged. Porcupine
// takes clocks to be exact: with a clock error, a window without an order decides nothing.
type linearizability struct {
	tally
	cutting
	moves int64 // moves left
	rand  *rand.Rand
	plain int // windows of no interest so far
	odd   int // windows with conflicting beliefs that were searched
}

// Bounds on the search.
const (
	maxSteps = 400_000    // moves tried in a window; at most some 120 MB of states
	maxMoves = 10_000_000 // moves tried in all, so that what is searched does not depend on the machine
	suspects = 64         // windows with conflicting beliefs, per key
	samples  = 64         // windows of no interest that are searched in any case, in all; of others fewer and fewer
)

func newLinearizability(d *keyInput) *linearizability {
	l := &linearizability{tally: d.tallyOf(verdicts.Linearizability, !d.opt.Unsearched, "not asked for"), cutting: newCutting(d),
		moves: maxMoves / int64(len(d.a.keys)), rand: rand.New(rand.NewPCG(d.opt.Seed, uint64(d.k.number)))}
	l.search = l.choose
	if l.applies && d.k.count(history.Acquire, history.OK, history.Busy) == 0 {
		l.applies, l.note = false, "nothing was granted or refused"
	}
	return l
}

// choose has a window searched if it is of interest, or drawn.
func (l *linearizability) choose(w *window) {
	few := max(1, samples/len(l.d.a.keys))
	switch {
	case w.lost:
		l.skip(w)
		return
	case w.open || l.d.opt.Plain:
	case w.odd != nil && l.odd < suspects:
		l.odd++
	case w.odd != nil:
		l.skip(w)
		return
	default:
		if l.plain++; l.plain > few && l.rand.IntN(l.plain) >= few {
			return
		}
	}
	l.judge(w)
}

// skip counts a window that should have been searched.
func (l *linearizability) skip(w *window) {
	l.skipped++
	if w.open {
		l.unjudged(1, notSearched)
	}
}

func (l *linearizability) judge(w *window) {
	most := min(maxSteps, l.moves)
	if l.d.opt.Plain {
		most = math.MaxInt64
	}
	found, tried := w.search(l.d, most)
	l.moves -= tried
	switch {
	case found == porcupine.Unknown:
		l.skip(w)
	case found == porcupine.Illegal && l.d.uses("search"):
		l.report(w)
	default:
		l.opportunity(w.ops[0].call, w.ops[len(w.ops)-1].ret)
	}
}

// report reports a window without an order, by the beliefs that conflict in it if any do.
func (l *linearizability) report(w *window) {
	of := w.odd
	if of == nil {
		of = slices.Concat(w.held, w.ops[:min(len(w.ops), minWindow)])
	}
	v := Violation{At: w.ops[0].call, Lasted: w.ops[len(w.ops)-1].ret - w.ops[0].call, WithinClockError: l.d.a.header.ClockError > 0, Clients: l.d.names(of...)}
	if w.odd != nil {
		last := &of[len(of)-1]
		end, _ := l.d.k.beliefEnd(last)
		v.At, v.Lasted = last.ret, 0
		for i := range of[:len(of)-1] {
			until, _ := l.d.k.beliefEnd(&of[i])
			v.Lasted = max(v.Lasted, min(end, until)-last.ret)
		}
	}
	l.found(v, of)
}

func (l *linearizability) done() {
	l.close(&l.now)
	l.windows = l.total
	if l.windows == 0 { // what was granted was over when the reply came
		l.unjudged(1, notSearched)
	}
}
