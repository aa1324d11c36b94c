package locktest

import (
	"fmt"
	"sync"
	"time"
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
		c.clear()
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

// asksLate delays a reply to an acquire while another client tries the lock.
func (c *trial) asksLate(n int) bool {
	a, b := c.client("a"), c.client("b")
	defer a.close()
	defer b.close()
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	var err error
	goOn, reached := c.heldBack(a, n, func() { _, err = a.try(exclusive) })
	if !reached {
		return false
	}
	defer goOn()
	_, first := b.try(exclusive)
	goOn()
	if first == nil && err == nil {
		c.errorf("b was granted the lock while reply no. %d to a.%s was on its way, and a was granted it, too%s", n, a.named("TryLock"), c.keyEvents(a))
	}
	return true
}
