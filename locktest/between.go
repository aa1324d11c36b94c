package locktest

import (
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// step is a call of the lock, or its background, in which a reply can be late.
type step struct {
	name string
	call func(a *client) // nil: the lock calls it
}

// steps returns the calls during which a lease can end and another client be granted the lock.
func (c *trial) steps() []step {
	if c.cfg.Traits.NoLease {
		return nil
	}
	all := []step{{"a.Unlock", func(a *client) { _ = a.release() }}}
	if c.cfg.Traits.Extends {
		all = append(all, step{"a.Extend", func(a *client) { _, _ = a.extend() }})
	}
	if c.cfg.Traits.SelfRenewing {
		all = append(all, step{"a's watchdog", nil})
	}
	return all
}

// mostRequests is how many replies of one call are held back, one at a time.
const mostRequests = 4

// betweenRequests holds a reply back for longer than the lease, as a pause of the client does, while the next client is granted the lock.
func betweenRequests(c *trial) {
	for _, s := range c.steps() {
		for n := 1; n <= mostRequests && c.goesOnLate(s, n); n++ {
			c.clear()
		}
		c.clear()
	}
	for n := 1; n <= mostRequests && c.asksLate(n); n++ {
	}
}

// heldBack runs a call, or waits for the background, and holds the n-th reply back. It returns false if the call sends fewer requests; otherwise
// goOn lets the reply pass and waits for the end of the call.
func (c *trial) heldBack(a *client, n int, call func()) (goOn func(), reached bool) {
	answered, pass, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	a.wires.whenAnswered(n, func() { close(answered); <-pass })
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // client.do has reported it
		if call == nil {
			<-pass
			c.settle()
			return
		}
		call()
	}()
	end := sync.OnceFunc(func() { close(pass); <-done })
	select {
	case <-answered:
		return end, true
	case <-done:
	case <-time.After(c.lease):
	}
	a.wires.whenAnswered(0, nil)
	end()
	return nil, false
}

// goesOnLate delays a reply of a step until the hold has ended and another client holds the lock.
func (c *trial) goesOnLate(s step, n int) bool {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	defer func() { a.close(); b.close(); other.close() }()
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	a.mustHold("the lock is free", exclusive)
	call := func() { s.call(a) }
	if s.call == nil {
		call = nil
	}
	goOn, reached := c.heldBack(a, n, call)
	if !reached {
		return false
	}
	defer goOn()
	what := fmt.Sprintf("reply no. %d to %s came a lease late", n, s.name)
	if c.cfg.Traits.SelfRenewing {
		c.clear() // none is left if the call has released already
	} else {
		c.endLease(a)
	}
	begin := time.Now()
	b.mustHold("a's lease has ended, and a waits for a reply", exclusive)
	b.wires.cutAll() // it extends no more
	c.sleep(c.lease / 2)
	goOn()
	other.mustBeRefused("b's lease has not ended, and "+what, exclusive)
	c.mustGetIn(other, begin, what+"; b was granted the lock and died")
	return true
}

// asksLate delays a reply to an acquire while another client has a whole hold: of no time, or of a part of a lease.
func (c *trial) asksLate(n int) bool {
	for _, held := range []time.Duration{0, c.lease * 2 / 5} {
		a, b := c.client("a"), c.client("b")
		for _, cl := range []*client{a, b} {
			cl.mustHold("the scripts are known from here on", exclusive)
			cl.mustRelease("it holds")
		}
		if !c.wholeHoldBetween(a, b, n, held) {
			return false
		}
		a.close()
		b.close()
		if c.cfg.Traits.NoLease {
			c.clear()
			continue
		}
		c.sleep(c.lease + grain + c.slack) // what is left ends by itself: a count of fences stays
	}
	return true
}

// wholeHoldBetween compares what the client was told, whose reply came late, with what the other was, and with who holds.
func (c *trial) wholeHoldBetween(a, b *client, n int, held time.Duration) bool {
	begin := time.Now()
	var got impls.Grant
	var err error
	goOn, reached := c.heldBack(a, n, func() { got, err = a.try(exclusive) })
	if !reached {
		return false
	}
	defer goOn()
	between, first := b.try(exclusive)
	if first == nil && held > 0 {
		c.sleep(held)
		_ = b.release()
	}
	goOn()
	what := fmt.Sprintf("reply no. %d to a.%s was on its way", n, a.named("TryLock"))
	switch {
	case err != nil || first != nil:
		if first == nil && held == 0 {
			b.mustRelease("b was granted the lock while " + what)
		}
		return true
	case held == 0:
		c.errorf("b was granted the lock while %s, and a was granted it, too%s", what, c.keyEvents(a))
		return true
	case got.Fence != 0 && got.Fence <= between.Fence:
		c.errorf("while %s, b was granted fence %d, and released; then a was granted fence %d", what, between.Fence, got.Fence)
	}
	if time.Since(begin) < c.lease*9/10-c.slack {
		b.mustBeRefused("b held and released while "+what+", and a was granted the lock", exclusive)
		a.mustRelease("a was granted the lock; b held and released while " + what)
	}
	return true
}
