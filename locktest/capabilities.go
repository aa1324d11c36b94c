package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func fencesGrow(c *C) {
	a, b := c.client("a"), c.client("b")
	last := uint64(0)
	next := func(cl *client, when string) {
		g := cl.mustHold(when, exclusive)
		if g.Fence <= last {
			c.errorf("%s: fence %d after fence %d", when, g.Fence, last)
		}
		last = g.Fence
	}
	for range 3 {
		next(a, "the lock is free")
		a.mustRelease("a holds")
		next(b, "a has released")
		c.endLease(b)
		next(a, "b's lease has ended")
		a.mustRelease("a holds")
	}
}

func countsEntries(c *C) {
	a, b := c.client("a"), c.client("b")
	const depth = 3
	for i := range depth {
		a.mustHold(fmt.Sprint("entry no. ", i+1), exclusive)
		b.mustBeRefused("a holds", exclusive)
	}
	for i := range depth {
		b.mustBeRefused(fmt.Sprintf("a has released %d of %d times", i, depth), exclusive)
		a.mustRelease("a holds")
	}
	if err := a.release(); !errors.Is(err, impls.ErrNotHeld) {
		c.errorf("a releases once too often: %s, want not held", say(err))
	}
	b.mustHold("a has released as often as it entered", exclusive)
	b.mustRelease("b holds")
}

func innerRelease(c *C) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	a.mustHold("a holds", exclusive)
	a.mustRelease("a holds twice")
	begin := time.Now()
	a.dies()
	c.sleep(c.lease*6/10 - time.Since(begin) - c.slack)
	b.mustBeRefused("six tenths of a lease have passed since the inner release", exclusive)
}

func readersShare(c *C) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	a.mustHold("the lock is free", shared)
	b.mustHold("a reads", shared)
	w.mustBeRefused("a and b read", exclusive)
	a.mustRelease("a reads")
	b.mustRelease("b reads")
	w.mustHold("nobody reads", exclusive)
	a.mustBeRefused("w writes", shared)
	b.mustBeRefused("w writes", exclusive)
	w.mustRelease("w writes")
	a.mustHold("nobody writes", shared)
	w.mustBeRefused("one client reads", exclusive)
	a.mustRelease("a reads")
}

func readerLeavesAlone(c *C) {
	for _, later := range []bool{false, true} {
		a, b, w := c.client("a"), c.client("b"), c.client("w")
		a.mustHold("the lock is free", shared)
		c.sleep(2 * time.Millisecond)
		b.mustHold("a reads", shared)
		leaves, stays := a, b
		if later {
			leaves, stays = b, a
		}
		leaves.mustRelease("two read")
		w.mustBeRefused(fmt.Sprintf("%s reads, and %s has left", stays.name, leaves.name), exclusive)
		_ = stays.release()
		c.deleteKeys()
	}
}

func deadReader(c *C) {
	dead, a, w := c.client("dead"), c.client("a"), c.client("w")
	begin := time.Now()
	dead.mustHold("the lock is free", shared)
	dead.dies()
	for range 4 { // a reads on beyond the dead reader's lease
		a.mustHold("another reads", shared)
		c.sleep(c.lease / 4)
		_, _ = a.extend()
		_ = a.release()
	}
	c.sleep(c.lease + c.lease/20 + c.slack - time.Since(begin))
	w.mustHold("the dead reader's lease has ended and nobody reads", exclusive)
}

func deadWriterWaits(c *C) {
	r, dead, next := c.client("r"), c.client("dead"), c.client("next")
	r.mustHold("the lock is free", shared)
	w := dead.waits(exclusive)
	c.sleep(c.lease / 10)
	dead.wires.die()
	w.cancel()
	_ = w.result()
	c.sleep(c.lease + c.lease/20 + c.slack)
	next.mustHold("a lease has passed since a waiting writer died", shared)
}

func permits(c *C) {
	const n = 3
	three := func(e *impls.Env) { e.Permits = n }
	all := make([]*client, n+2)
	for i := range all {
		all[i] = c.client(fmt.Sprint("c", i), three)
	}
	if won := c.race(all); len(won) != n {
		c.errorf("%d of %d clients that asked at once hold a permit, want %d", len(won), len(all), n)
	}
	c.endLease(all[0])
	for _, cl := range all[:n] {
		cl.mustHold("all permits have come back", exclusive)
	}
	all[n].mustBeRefused("no permit is left", exclusive)
	for range 2 {
		_ = all[0].release()
	}
	all[n].mustHold("one permit has come back", exclusive)
	all[n+1].mustBeRefused("one permit has come back, though it was released twice", exclusive)
}

func renews(c *C) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	for i := range 4 {
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

func quorum(c *C) {
	if len(c.nodes) < 3 {
		return // one node is its own majority
	}
	a, b := c.client("a"), c.client("b")
	minority := (len(c.nodes) - 1) / 2
	a.mustHold("all nodes are there", exclusive)
	a.mustRelease("a holds")
	a.down(c.nodes[:minority], func() {
		a.mustHold("a minority of the nodes is out of reach", exclusive)
		b.mustBeRefused("a holds a majority", exclusive)
		a.mustRelease("a holds")
	})
	a.down(c.nodes[:minority+1], func() {
		if _, err := a.try(exclusive); err == nil || errors.Is(err, impls.ErrBusy) {
			c.errorf("a majority of the nodes is out of reach, and a hears %s", say(err))
		}
	})
	c.settle()
	b.mustHold("a's attempt has failed", exclusive)
}
