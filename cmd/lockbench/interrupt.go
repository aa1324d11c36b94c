package main

import (
	"context"
	"sync"
	"time"
)

// How long what is under way may take after an interrupt.
const (
	stopGrace = 4 * time.Second        // to end and to be judged, after the first
	quitGrace = 700 * time.Millisecond // to stop servers and clients, after the second
)

// signals takes the signals that end a process, from the beginning of a verb to its end. The first
// ends the work in progress, which is then judged; the second, or stopGrace, abandons it; the
// third, or quitGrace, ends the program. Without work, the first does.
type signals struct {
	mu   sync.Mutex    // protects work
	work *interruption // nil: nothing is under way that must be kept
}

// interruption is what an interrupt does to some work.
type interruption struct {
	stop   context.Context // ends with the first signal, or with the work's context
	ctx    context.Context
	count  int // of signals; to be read when done
	first  context.CancelFunc
	cancel context.CancelFunc
	of     *signals
}

// next makes the next step to the end, and returns when the one after it is due.
func (s *signals) next(a *app, asked bool) <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.work
	if w != nil && asked {
		w.count++
	}
	switch {
	case w == nil || w.ctx.Err() != nil:
		a.line.clear()
		a.quit(exitInterrupted)
	case w.stop.Err() == nil:
		w.first()
		if w.ctx.Err() == nil {
			a.say("interrupted: finishing what is under way and judging what was recorded; once more to quit now")
		} else {
			a.say("interrupted")
		}
		return time.After(stopGrace)
	case asked:
		a.say("interrupted again: stopping all servers and clients")
		w.cancel()
	default:
		a.say("it takes too long: stopping all servers and clients; what was recorded is kept")
		w.cancel()
	}
	return time.After(quitGrace)
}

// listen returns the context of work that an interrupt ends, and that is judged then; end must be
// called.
func (a *app) listen(ctx context.Context) (context.Context, *interruption) {
	ctx, cancel := context.WithCancel(ctx)
	stop, first := context.WithCancel(ctx)
	i := &interruption{stop: stop, ctx: ctx, first: first, cancel: cancel, of: &a.signals}
	a.signals.set(i)
	return ctx, i
}

// interruptible returns a context that the first signal ends, for a verb that keeps nothing of what
// it has begun. end must be called.
func (a *app) interruptible(ctx context.Context) (cancelled context.Context, end func()) {
	cancelled, cancel := context.WithCancel(ctx)
	a.signals.set(&interruption{stop: cancelled, ctx: cancelled, first: cancel, cancel: cancel, of: &a.signals})
	return cancelled, func() {
		cancel()
		a.signals.set(nil)
	}
}

func (s *signals) set(work *interruption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work = work
}

// end ends the work. The error is errInterrupted when there was a signal.
func (i *interruption) end() error {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	i.of.work = nil
	i.cancel()
	if i.count > 0 {
		return errInterrupted
	}
	return nil
}
