package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// waiting is a pending acquire.
type waiting struct {
	cl     *client
	done   chan struct{}
	grant  impls.Grant
	err    error
	at     time.Time
	gaveUp bool // by itself: its context had not ended
	cancel context.CancelFunc
}

// waits acquires in the background.
func (cl *client) waits(mode history.Mode) *waiting {
	p := cl.callContext()
	w := &waiting{cl: cl, done: make(chan struct{}), cancel: p.Cancel}
	go func() {
		defer close(w.done)
		defer func() {
			if p := recover(); p != nil && p != any(giveUp{}) {
				panic(p)
			}
		}()
		w.err = errStays
		g, err := cl.acquire(p, mode)
		w.grant, w.err, w.at = g, err, time.Now()
		w.gaveUp = err != nil && !impls.Ended(p)
		keep(p, err)
	}()
	return w
}

// errStays is the result of a call that did not return.
var errStays = errors.New("it did not return")

// result waits for the acquire to end.
func (w *waiting) result() error {
	<-w.done
	return w.err
}

// end cancels the acquire and waits for it to end.
func (w *waiting) end() error {
	w.cancel()
	return w.result()
}

// mustBeGranted ends the rule if the acquire fails, and reports a grant that comes later than limit
// after begin.
func (w *waiting) mustBeGranted(begin time.Time, limit time.Duration) {
	c, name, what := w.cl.c, w.cl.name, w.cl.c.sofar()
	if w.result() != nil {
		c.fatalf("%s, and %s is not granted the lock: %v%s", what, name, w.err, c.stillThere())
	}
	if took := w.at.Sub(begin); c.late(took, limit) {
		c.errorf("%s, and %s was granted the lock %v later, want %v at the most%s", what, name, took, limit, c.log.lastOf(name))
	}
}

// over reports whether the acquire has ended.
func (w *waiting) over() bool { return ended(w.done) }
