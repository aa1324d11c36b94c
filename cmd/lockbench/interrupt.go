package main

import (
	"context"
	"os"
	"sync"
)

// interruption handles signals: after the first, the work in progress ends and is judged; the second
// abandons it. In both cases servers and clients are stopped before the program ends.
type interruption struct {
	stop   context.Context // ends with the first, or with the work's context
	count  int             // of signals; to be read when done
	cancel context.CancelFunc
	quit   chan struct{}
	done   sync.WaitGroup
}

// listen begins to take signals; end must be called.
func (a *app) listen(ctx context.Context) (context.Context, *interruption) {
	ctx, cancel := context.WithCancel(ctx)
	stop, first := context.WithCancel(ctx)
	i := &interruption{stop: stop, cancel: cancel, quit: make(chan struct{})}
	signals, ignore := a.notify()
	i.done.Go(func() { defer ignore(); i.take(a, signals, first) })
	return ctx, i
}

// interruptible returns a context that the first signal ends, for a verb that keeps nothing of what it has begun. end must be called.
func (a *app) interruptible(ctx context.Context) (cancelled context.Context, end func()) {
	cancelled, cancel := context.WithCancel(ctx)
	signals, ignore := a.notify()
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-signals:
			a.say("interrupted")
			cancel()
		case <-cancelled.Done():
		}
	})
	return cancelled, func() {
		cancel()
		watch.Wait()
		ignore()
	}
}

// take runs until end, on a goroutine that end waits for.
func (i *interruption) take(a *app, signals <-chan os.Signal, first context.CancelFunc) {
	for {
		select {
		case <-signals:
		case <-i.quit:
			return
		}
		i.count++
		switch i.count {
		case 1:
			first()
			a.say("interrupted: finishing what is under way and judging what was recorded; once more to quit now")
		case 2:
			a.say("interrupted again: stopping all servers and clients")
			i.cancel()
		}
	}
}

// end stops listening. The error is errInterrupted when there was a signal.
func (i *interruption) end() error {
	close(i.quit)
	i.done.Wait()
	i.cancel()
	if i.count > 0 {
		return errInterrupted
	}
	return nil
}
