package locktest

import (
	"sync"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// mostRequests is how many replies of one call are held back, one at a time.
const mostRequests = 4

// betweenRequests holds a reply back for longer than the lease, as a pause of the client does,
// while the next client is granted the lock.
func betweenRequests(c *trial) {
	type lateCall struct { // a call of the lock, or its background, in which a reply comes late
		name string
		call func(cl *client) // nil: the lock calls it
	}
	calls := []lateCall{{"a.Unlock", func(cl *client) { _ = cl.release() }}}
	if c.cfg.Traits.Extends {
		calls = append(calls, lateCall{"a.Extend", func(cl *client) { _, _ = cl.extend() }})
	}
	if c.cfg.Traits.SelfRenewing {
		calls = append(calls, lateCall{"a's watchdog", nil})
	}
	if c.cfg.Traits.NoLease { // no hold ends during a call
		calls = nil
	}
	for _, l := range calls {
		for n := 1; n <= mostRequests && c.goesOnLate(l.name, l.call, n); n++ {
		}
	}
	for n := 1; c.cfg.Traits.SelfRenewing && n <= mostRequests && c.releasesLate(n); n++ {
	}
	c.play(anew())
	for n := 1; n <= mostRequests && c.asksLate(n, 0, 0) && c.asksLate(n, 0, c.lease*2/5); n++ {
		if c.cfg.Traits.Fenced && !c.cfg.Traits.NoLease && !c.cfg.Traits.SelfRenewing {
			c.asksLate(n, c.lease+grain+c.slack, 0)
		}
	}
}

// heldBack runs a call, or waits for the background, and holds the n-th reply back. It returns
// false if the call sends fewer requests; otherwise goOn lets the reply pass and waits for the end
// of the call.
func (c *trial) heldBack(cl *client, n int, call func(cl *client)) (goOn func(), reached bool) {
	answered, pass, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	cl.wires.whenAnswered(n, func() { close(answered); <-pass })
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // client.do has reported it
		if call == nil {
			<-pass
			c.settle()
			return
		}
		call(cl)
	}()
	end := sync.OnceFunc(func() { close(pass); <-done })
	select {
	case <-answered:
		return end, true
	case <-done:
	case <-time.After(c.lease):
	}
	cl.wires.whenAnswered(0, nil)
	end()
	return nil, false
}

// goesOnLate delays a reply of a call until the hold has ended and another client holds the lock.
func (c *trial) goesOnLate(name string, call func(cl *client), n int) bool {
	c.play(anew(), a.knows(), a.holds())
	goOn, reached := c.heldBack(c.at(a), n, call)
	if !reached {
		return false
	}
	defer goOn()
	if c.cfg.Traits.SelfRenewing {
		c.clear() // none is left if the call has released already
	} else {
		c.endLease()
	}
	c.say("reply no. %d to %s came a lease late", n, name)
	c.play(b.holds(), b.isCut(), until(1, 2), happens("", func(*trial) { goOn() }), other.isRefused(), other.getsIn())
	return true
}

// releasesLate delays a reply to a release for so long that the watchdog would renew meanwhile.
func (c *trial) releasesLate(n int) bool {
	c.play(anew(), a.knows(), a.holds())
	var err error
	goOn, reached := c.heldBack(c.at(a), n, func(cl *client) { err = cl.release() })
	if !reached {
		return false
	}
	time.Sleep(c.lease / 2)
	goOn()
	c.say("reply no. %d to a.%s came half a lease late", n, c.at(a).named("Unlock"))
	c.settle()
	c.frees(c.at(a), err)
	return true
}

// asksLate delays a reply to an acquire while another client, which may come after the end of that
// lease, has a whole hold: of no time, or of a part of a lease. What is left ends by itself: a count
// of fences stays.
func (c *trial) asksLate(n int, after, held time.Duration) (reached bool) {
	defer func() {
		if c.leave(); c.cfg.Traits.NoLease {
			c.clear()
		} else {
			time.Sleep(c.lease + grain + c.slack)
		}
	}()
	c.play(a.knows(), b.knows(), fromNow())
	var got impls.Grant
	var err error
	goOn, reached := c.heldBack(c.at(a), n, func(cl *client) { got, err = cl.try(exclusive) })
	if !reached {
		return false
	}
	defer goOn()
	time.Sleep(after)
	between, first := c.at(b).try(exclusive)
	if first == nil && held > 0 {
		time.Sleep(held)
		_ = c.at(b).release()
	}
	goOn()
	c.story = nil
	c.say("reply no. %d to a.%s was on its way", n, c.at(a).named("TryLock"))
	switch {
	case first != nil:
	case after > 0:
		if err == nil && got.Fence > between.Fence {
			c.errorf("%s for a lease; b was granted fence %d meanwhile, and then a fence %d", c.sofar(), between.Fence, got.Fence)
		}
	case err != nil && held == 0:
		c.play(b.releases())
	case err != nil:
	case held == 0:
		c.errorf("b was granted the lock while %s, and a was granted it, too%s", c.sofar(), c.keyEvents(c.at(a)))
	case got.Fence != 0 && got.Fence <= between.Fence:
		c.errorf("while %s, b was granted fence %d, and released; then a was granted fence %d", c.sofar(), between.Fence, got.Fence)
	case time.Since(c.mark) < c.lease*9/10-c.slack:
		c.say("b held and released; a was granted the lock")
		c.play(b.isRefused(), a.releases())
	}
	return true
}
