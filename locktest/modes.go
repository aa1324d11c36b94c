package locktest

import (
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// fencesRace lets clients contend and checks the fences in the order of the holds.
func fencesRace(c *trial) {
	const workers, rounds = 5, 6
	var guard sync.Mutex // protects last in case the lock under test does not
	last := uint64(0)
	var working sync.WaitGroup
	for i := range workers {
		cl := c.client(fmt.Sprint("c", i))
		working.Go(func() {
			for range rounds {
				w := cl.waits(exclusive)
				if w.result() != nil {
					c.errorf("%s.%s: %v", cl.name, cl.named("Lock"), w.err)
					return
				}
				guard.Lock()
				if w.grant.Fence <= last {
					c.errorf("%s is granted fence %d after another was granted fence %d", cl.name, w.grant.Fence, last)
				}
				last = max(last, w.grant.Fence)
				guard.Unlock()
				time.Sleep(c.lease / 100)
				if err := cl.release(); err != nil {
					c.errorf("%s.%s: %v", cl.name, cl.named("Unlock"), err)
				}
			}
		})
	}
	working.Wait()
}

// fencesLate holds each reply to an acquire back until the lease has ended and another client has been granted the lock.
func fencesLate(c *trial) {
	for n := 1; n <= mostRequests; n++ {
		a, b := c.client("a"), c.client("b")
		for _, cl := range []*client{a, b} {
			cl.mustHold("the scripts are known from here on", exclusive)
			cl.mustRelease("it holds")
		}
		var got impls.Grant
		var err error
		goOn, reached := c.heldBack(a, n, func() { got, err = a.try(exclusive) })
		if !reached {
			return
		}
		c.sleep(c.lease + grain + c.slack)
		next, refused := b.try(exclusive)
		goOn()
		if err == nil && refused == nil && got.Fence > next.Fence {
			c.errorf("reply no. %d to a.%s came a lease late; b was granted fence %d meanwhile, and then a fence %d", n, a.named("TryLock"), next.Fence, got.Fence)
		}
		_, _ = a.release(), b.release()
		a.close()
		b.close()
		c.sleep(c.lease + c.slack) // what is left ends by itself: the count of fences stays
	}
}

// downgrade: a writer that takes the read side as well and leaves the write side lets waiting readers in at once.
func downgrade(c *trial) {
	limit := c.twoPolls(shared)
	a, r, w := c.client("a"), c.client("r"), c.client("w")
	a.mustHold("the lock is free", exclusive)
	if _, err := a.try(shared); err != nil {
		c.note("a writer that asks to read: %s; it cannot downgrade", a.outcome(err))
		_ = a.release()
		return
	}
	w.mustBeRefused("a writes and reads", exclusive)
	reads := r.waits(shared)
	c.sleep(c.lease / 10)
	if reads.over() {
		c.errorf("a writes, and r.%s: %s", r.namedFor(shared, "Lock"), r.outcome(reads.err))
	}
	begin := time.Now()
	if err := a.releaseMode(exclusive); err != nil {
		c.errorf("a, which writes and reads, leaves the write side: %v", err)
	}
	if reads.result() != nil {
		c.fatalf("a has left the write side and reads on, and r.%s: %v", r.namedFor(shared, "Lock"), reads.err)
	}
	if took := reads.at.Sub(begin); c.late(took, limit) {
		c.errorf("a has left the write side and reads on, and r was granted the read side after %v: it was not woken", took)
	}
	w.mustBeRefused("a and r read", exclusive)
	_ = a.releaseMode(shared)
	_ = r.release()
	w.mustHold("nobody reads", exclusive)
}

// sharedRelease: a client without a read hold ends no reader's hold and no writer's, however often it releases.
func sharedRelease(c *trial) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	a.mustHold("the lock is free", shared)
	b.mustHold("a reads", shared)
	if err := b.releaseMode(shared); err != nil {
		c.errorf("b reads, and b.RUnlock: %v", err)
	}
	_ = b.releaseMode(shared)
	w.mustBeRefused("a reads, and b has left twice", exclusive)
	if err := a.releaseMode(shared); err != nil {
		c.errorf("a reads, and a.RUnlock: %v", err)
	}
	w.mustHold("nobody reads", exclusive)
	_ = b.releaseMode(shared)
	a.mustBeRefused("w writes, and b, which does not read, has left", exclusive)
	w.mustRelease("it writes")
}

// mixedModes: one client uses both modes, one after the other and at once.
func mixedModes(c *trial) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	for range 3 {
		a.mustHold("the lock is free", shared)
		b.mustHold("a reads", shared)
		if _, err := a.try(exclusive); err == nil {
			c.errorf("a and b read, and a.%s succeeded", a.named("TryLock"))
			_ = a.releaseMode(exclusive)
		}
		w.mustBeRefused("a and b read", exclusive)
		if err := b.releaseMode(shared); err != nil {
			c.errorf("b reads, and leaves: %v", err)
		}
		w.mustBeRefused("a reads, and b has left", exclusive)
		if err := a.releaseMode(shared); err != nil {
			c.errorf("a reads, was refused to write, and leaves: %v", err)
		}
		a.mustHold("nobody holds", exclusive)
		b.mustBeRefused("a writes", shared)
		a.mustRelease("a writes")
	}
	w.mustHold("everybody has left", exclusive)
	w.mustRelease("w writes")
	c.noKeys()
}

// readerLeaks: many readers come and go, some die, and no trace of them remains.
func readerLeaks(c *trial) {
	a, w := c.client("a"), c.client("w")
	cost := func() int {
		a.wires.requests()
		a.mustHold("nobody writes", shared)
		a.mustRelease("a reads")
		return a.wires.requests()
	}
	_ = cost() // scripts are loaded from here on
	first := cost()
	for i := range 20 {
		r := c.client(fmt.Sprint("r", i))
		r.mustHold("nobody writes", shared)
		if i%4 == 0 {
			r.dies()
			continue
		}
		r.mustRelease("it reads")
		r.close()
	}
	if n := cost(); n > first+2 {
		c.errorf("a reader takes %d requests at first, and %d after 20 others", first, n)
	}
	c.sleep(c.lease + c.lease/20 + 2*c.slack)
	w.mustHold("all readers have left or died a lease ago", exclusive)
	w.mustRelease("w writes")
	c.sleep(c.lease + c.lease/20 + 2*c.slack)
	c.noKeys()
}
