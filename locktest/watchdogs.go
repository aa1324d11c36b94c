package locktest

import (
	"fmt"
	"time"
)

func renews(c *C) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	for i := range 14 { // more than ten leases
		c.sleep(c.lease*3/4 + c.slack/4)
		b.mustBeRefused(fmt.Sprintf("a has worked for %d quarters of a lease", 3*(i+1)), exclusive)
	}
	a.mustRelease("a holds")
	a.renewals()
	b.mustHold("a has released", exclusive)
	c.sleep(c.lease + c.slack)
	if n := a.renewals(); n > 0 {
		c.errorf("%d renewals after the release", n)
	}
}

func renewsOwn(c *C) {
	a, b := c.client("a"), c.client("b")
	g := a.mustHold("the lock is free", exclusive)
	c.settle() // a watchdog may renew at once
	c.deleteKeys()
	a.renewals()
	c.sleep(c.lease + c.slack)
	if n := a.renewals(); n > 0 {
		c.errorf("the keys were deleted, and %d renewals say that they succeeded", n)
	}
	if c.cfg.traits.NotifiesLoss {
		select {
		case <-g.Lost:
		default:
			c.errorf("the keys were deleted a lease ago, and Lost is not closed")
		}
	}
	a2 := c.client("a2")
	a2.mustHold("nobody holds", exclusive)
	c.settle()
	c.deleteKeys()
	b.mustHold("the keys were deleted", exclusive)
	a2.renewals()
	c.sleep(c.lease + c.slack)
	if n := a2.renewals(); n > 0 {
		c.errorf("b holds, and %d renewals of a2 succeeded", n)
	}
}

func renewalFails(c *C) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	g := a.mustHold("the lock is free", exclusive)
	a.wires.loseReplies(1) // of the next renewal: nothing else is sent
	for i := range 3 {
		c.sleep(c.lease*3/4 + c.slack/4)
		b.mustBeRefused(fmt.Sprintf("a has worked for %d quarters of a lease, and one reply to its watchdog was lost", 3*(i+1)), exclusive)
	}
	select {
	case <-g.Lost:
		c.errorf("one renewal's reply was lost, the lock is a's, and a was told that it was lost")
	default:
	}
	a.mustRelease("a holds")
}

func oneWatchdog(c *C) {
	a := c.client("a")
	count := func() int {
		a.renewals()
		c.sleep(2*c.lease + c.lease/20)
		return a.renewals()
	}
	a.mustHold("the lock is free", exclusive)
	once := count()
	a.mustHold("a holds", exclusive)
	a.mustHold("a holds", exclusive)
	if n := count(); n > once+1 {
		c.errorf("%d renewals in two leases when a has entered once, and %d when it has entered three times", once, n)
	}
	for range 3 {
		a.mustRelease("a holds")
	}
	if n := count(); n > 0 {
		c.errorf("%d renewals after the last release", n)
	}
}

func gaveUpUnrenewed(c *C) {
	a, b, next := c.client("a"), c.client("b"), c.client("next")
	a.mustHold("the lock is free", exclusive)
	w := b.waits(exclusive)
	c.sleep(c.lease / 5)
	w.cancel()
	_ = w.result()
	a.mustRelease("a holds")
	b.wires.loseReplies(1) // the grant may be known to the server and never to b
	_, _ = b.try(exclusive)
	b.wires.loseReplies(0)
	begin := time.Now()
	got := next.waits(exclusive)
	if got.result() != nil {
		c.fatalf("b has given up, and the next client is not granted the lock: %v", got.err)
	}
	if took := got.at.Sub(begin); c.late(took, c.lease+c.lease/10) {
		c.errorf("b has given up, and the next client was granted the lock after %v, want a lease of %v at the most", took, c.lease)
	}
	c.sleep(c.lease)
	if n := b.renewals(); n > 0 {
		c.errorf("%d renewals of a client that was granted nothing", n)
	}
}
