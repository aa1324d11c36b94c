package sim

import (
	"testing/synctest"
)

// drive performs one event at a time until every client is done. A request that affects only its
// node wakes no goroutine, so time need not pass for it in the bubble before the next event that
// does.
func (w *world) drive() {
	for alone := false; w.out.Crash == "" && w.out.Loop == nil; {
		w.turns.Add(1)
		if !alone {
			synctest.Wait()
		}
		w.mu.Lock()
		w.settleInstant()
		w.traceOps()
		options := w.options()
		if len(options) == 0 {
			over := w.over()
			w.mu.Unlock()
			left := w.program.Horizon - w.now()
			if over || left <= 0 {
				return
			}
			w.waitAtMost(left)
			alone = false
			continue
		}
		chosen := w.choose(options)
		w.mu.Unlock()
		if chosen.kind == giveUp {
			w.out.Pruned = true
			return
		}
		if chosen.kind == waitForTime {
			from := w.now()
			w.waitAtMost(w.bounds.MaxDelay)
			w.out.Waited += w.now() - from
			alone = false
			continue
		}
		if alone = w.affectsNodeOnly(chosen); alone {
			w.ahead.Add(int64(tick))
		} else {
			w.spendTick()
		}
		w.mu.Lock()
		w.apply(chosen)
		w.mu.Unlock()
	}
}

// choose lets the strategy choose, and records choices other than the default on the tape. What is
// on its way when all clients are done arrives by default, except in a walk of all schedules: no
// client sees it, though data may depend on it.
func (w *world) choose(options []option) option {
	usual := oldest(options)
	if w.over() && !w.bounds.Instant || w.step >= w.bounds.MaxSteps {
		return usual
	}
	o := w.strategy.choose(moves{step: w.step, options: options, wait: w.waits < w.bounds.MaxWaits && !w.over(), view: w})
	if o.kind == giveUp {
		return o
	}
	if o.kind != usual.kind || o.conn != usual.conn {
		before, do := usual.event(), o.event()
		choice := func() Choice { return Choice{Before: before.name(), Do: do.name()} }
		w.out.tape = append(w.out.tape, choice)
		if w.echo != nil {
			w.echo(choice())
		}
	}
	switch o.kind {
	case waitForTime:
		w.waits++
		w.event(o.kind, nil, nil, func() string { return "time passes" })
		w.step++
	case placeFault:
		w.budget--
	}
	return o
}

// traceHash returns the hash of the trace, never 0.
func (w *world) traceHash() uint64 { return w.trace.hash | 1 }
