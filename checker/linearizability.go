package checker

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// linearizability: Porcupine finds an order of the operations under the lease model. It is a second opinion on mutual exclusion, refusals and fences,
// by a search that shares none of the sweep's reasoning; see leaseModel and windows.
//
// It searches every window in which the sweep found a violation, up to a number for each key, or with a refusal that the sweep does not decide: for
// shared and exclusive locks, permits and re-entrant locks, one that met no certain holder. Together with the sweep that decides as plain Porcupine does.
// Of the other windows it searches a random sample. An opportunity is a window searched.
//
// Limits: windows are not searched if they are too long, beyond the number, or not finished within the number of moves. They are counted. Where
// the sweep decides, only a second opinion is missing and the property passes with a note; where it does not, the property is inconclusive. The windows
// are built from the holds that the pass found, so an error there is not found here; the differential tests against models that read the plain operations
// cover that.
type linearizability struct {
	tally
	cutting
	refused *refusal // knows which refusals are excused
	moves   int64    // moves left
	rand    *rand.Rand
	clean   int // windows without a violation so far, which the sweep decides
}

func newLinearizability(d *keyInput, refused *refusal) *linearizability {
	keys := len(d.a.keys)
	return &linearizability{tally: d.tallyOf(verdicts.Linearizability, true, ""), cutting: cutting{cover: math.MinInt64, now: window{from: math.MinInt64}, own: map[uint32]int64{}},
		refused: refused, moves: maxMoves / int64(keys), rand: rand.New(rand.NewPCG(d.opt.Seed, uint64(d.k.number)))}
}

// keep searches a window that the sweep does not decide, or in which it found a violation, and a sample of the others.
func (l *linearizability) keep(w *window) {
	switch {
	case l.d.opt.Unsearched:
	case w.open, w.cause != nil && l.violations < suspects:
		l.judge(w)
	case w.cause != nil:
		l.skipped++
	case l.sampled():
		l.judge(w)
	}
}

// sampled reports whether to search another window of no interest: the first few, and of those after them the nth with a chance of few in n.
func (l *linearizability) sampled() bool {
	l.clean++
	few := max(1, samples/len(l.d.a.keys))
	return l.clean <= few || l.rand.IntN(l.clean) < few
}

func (l *linearizability) done() {
	if l.d.opt.Unsearched {
		l.applies, l.note = false, "not asked for"
		return
	}
	l.close(l.now)
	l.skipped += l.dropped
	l.unjudged(l.undecided, notSearched)
	l.windowed = l.cuts + l.dropped
	if l.windowed == 0 && l.d.k.count(history.Acquire, history.OK, history.Busy) > 0 { // what was granted was over when the reply came
		l.unjudged(1, notSearched)
	}
	if l.applies = l.windowed > 0 || len(l.notJudged) > 0; !l.applies {
		l.note = "nothing was granted or refused"
	}
}

// judge searches a window. Without moves left one that the sweep does not decide stays undecided.
func (l *linearizability) judge(w *window) {
	most := min(maxSteps, l.moves)
	if l.d.opt.Plain {
		most = math.MaxInt64
	}
	found, tried := w.search(l.d, most)
	l.moves -= tried
	switch found {
	case porcupine.Unknown:
		if l.skipped++; w.open {
			l.undecided++
		}
	case porcupine.Illegal:
		if l.d.a.header.ClockError > 0 && (w.cause == nil || w.cause.WithinClockError) { // the order that was searched is that of exact clocks
			l.within++
			l.unjudged(1, withinClockError)
			break
		}
		l.opportunity(w.ops[0].call, w.ops[len(w.ops)-1].ret)
		if l.d.obeys("search") {
			l.illegal(w)
		}
	case porcupine.Ok:
		l.opportunity(w.ops[0].call, w.ops[len(w.ops)-1].ret)
	}
}

// illegal reports a window without an order: by the violation that the sweep found in it, or else by its operations.
func (l *linearizability) illegal(w *window) {
	if w.cause != nil {
		v := w.cause.Violation
		if w.cause.Property == verdicts.MutualExclusion {
			v.shownBy = byBeliefs
		}
		l.found(v, w.cause.shown)
		return
	}
	v := Violation{At: w.ops[0].call, Lasted: w.ops[len(w.ops)-1].ret - w.ops[0].call}
	of := slices.Concat(w.held, w.ops[:min(len(w.ops), maxOfHold)]) // not w itself, which would then be allocated for every window
	l.found(v, func() Witness { return l.d.witness(of) })
}
