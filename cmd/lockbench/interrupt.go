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

// interrupts takes the signals that end a process, from the beginning of a verb to its end. The first
// ends the work in progress, which is then judged; the second, or stopGrace, abandons it; the
// third, or quitGrace, ends the program. Without work, the first does.
type interrupts struct {
	mu            sync.Mutex      // protects what follows, of the work under way
	stop          context.Context // ends with the first signal, or with ctx
	ctx           context.Context // ends when the work is abandoned; nil: there is none that must be kept
	first, cancel context.CancelFunc
	count         int // of signals
}

// next makes the next step to the end, and returns when the one after it is due.
func (i *interrupts) next(a *app, asked bool) <-chan time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if asked {
		i.count++
	}
	switch {
	case i.ctx == nil || i.ctx.Err() != nil:
		a.line.clear()
		a.quit(exitInterrupted)
	case i.stop.Err() == nil:
		i.first()
		if i.ctx.Err() == nil {
			a.say("interrupted: finishing what is under way and judging what was recorded; once more to quit now")
		} else {
			a.say("interrupted")
		}
		return time.After(stopGrace)
	case asked:
		a.say("interrupted again: stopping all servers and clients")
		i.cancel()
	default:
		a.say("it takes too long: stopping all servers and clients; what was recorded is kept")
		i.cancel()
	}
	return time.After(quitGrace)
}

// listen returns the context of work that is judged when an interrupt ends it, and the one that ends
// with the first signal. ended must be called.
func (a *app) listen(ctx context.Context) (work, stop context.Context) {
	work, cancel := context.WithCancel(ctx)
	stop, first := context.WithCancel(work)
	a.interrupts.begin(stop, work, first, cancel)
	return work, stop
}

// interruptible returns a context that the first signal ends, for a verb that keeps nothing of what
// it has begun. end must be called.
func (a *app) interruptible(ctx context.Context) (cancelled context.Context, end func()) {
	cancelled, cancel := context.WithCancel(ctx)
	a.interrupts.begin(cancelled, cancelled, cancel, cancel)
	return cancelled, func() { _ = a.ended() } // it was said
}

func (i *interrupts) begin(stop, ctx context.Context, first, cancel context.CancelFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stop, i.ctx, i.first, i.cancel, i.count = stop, ctx, first, cancel, 0
}

// ended ends the work. The error is errInterrupted when there was a signal.
func (a *app) ended() error {
	i := &a.interrupts
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel()
	i.ctx = nil
	if i.count > 0 {
		return errInterrupted
	}
	return nil
}
