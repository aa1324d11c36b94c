package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// modes are the rules for locks with readers and writers.
func modes() []rule {
	return []rule{
		{"readers-share", "Readers share; a writer is alone.", sharing, play(
			a.reads(), b.reads(), w.isRefused(), a.releases(), b.releases(),
			w.holds(), a.mayNotRead(), b.isRefused(), w.releases(), a.reads(), w.isRefused(), a.releases())},
		{"reader-leaves-alone", "A reader's release ends its own hold and no other reader's.", sharing, play(
			a.reads(), apart(), ab.reads(), a.releases(), w.isRefused(),
			anew(), a.reads(), apart(), ab.reads(), ab.releases(), w.isRefused())},
		{"shared-release", "A client that does not read can end no reader's hold and no writer's.", all(sharing, notOfContract), play(
			a.reads(), b.reads(), b.leaves(shared), b.triesToLeave(shared), w.isRefused(), a.leaves(shared),
			w.holds(), b.triesToLeave(shared), a.isRefused(), w.releases())},
		{"reader-lasts", "A reader that comes later, or extends, keeps a writer out for a lease of its own.", all(sharing, leased), readerLasts},
		{"dead-reader", "A dead reader keeps a writer out for a lease at most, even if others read on.", all(sharing, leased), play(
			dead.reads(), dead.dies(), repeat(4, a.reads(), pass(1, 4), a.triesToExtend(), a.lets()), pass(1, 20), settled(), w.holds())},
		{"dead-writer-waits", "A writer that died while it waited keeps readers out for a lease at most.", all(sharing, leased), play(
			r.reads(), dead.diesWaiting(1, 10), leaseOver(), next.reads())},
		{"many-readers", "However many readers there are, alive or dead, a writer is refused while one of them reads.", all(sharing, leased), manyReaders},
		{"refused-reader", "A reader that was refused, or has given up, keeps no writer out.", sharing, play(
			w.holds(), r.mayNotRead(), w.releases(), takenBack(), next.holds(), next.releases(),
			anew(), w.holds(), r.givesUp(shared, 1, 10), w.releases(), takenBack(), next.holds(), next.releases())},
		{"refused-writer", "A writer that was refused, or has given up, keeps readers out for a lease at most.", all(sharing, leased), play(
			r.reads(), w.isRefused(), leaseOver(), next.reads(),
			anew(), r.reads(), w.givesUp(exclusive, 1, 10), leaseOver(), next.reads())},
		{"reader-leaks", "Readers that come, go and die leave no key, and do not make later readers slower.", all(sharing, leased), readerLeaks},
		{"mixed-modes", "One client may read and write in turn; a refused request changes nothing.", sharing, play(
			repeat(3, a.reads(), b.reads(), a.mayNotWrite(), w.isRefused(), b.leaves(shared), w.isRefused(), a.leaves(shared),
				a.holds(), b.mayNotRead(), a.releases()),
			w.holds(), w.releases(), happens("", func(c *trial) { _ = c.leftOver() }))},
		{"downgrade", "A writer that continues as a reader lets waiting readers in at once, and no writer.", all(sharing, notOfContract), downgrade},
		{"readers-wake", "Readers that wait for a writer are granted the lock together.", sharing, readersWake},
		{"writer-first", "A waiting writer keeps new readers out, and is granted the lock when the present readers have left.", writersFirst, play(
			r.reads(), w.waits(), pass(1, 10), late.mayNotRead(), late.waitsFor(shared), r.releases(), w.isGranted(),
			late.stillWaits(), w.releases(), late.isGranted())},
	}
}

// takenBack lets clients take back what they asked for.
func takenBack() step { return happens("", (*trial).takeBack) }

// mayNotWrite asks for the write side while the client and another read.
func (p who) mayNotWrite() step {
	return p.does("asks to write", func(cl *client) {
		if _, err := cl.try(exclusive); err == nil {
			cl.c.errorf("%s.%s succeeded (%s)", cl.name, cl.named("TryLock"), cl.c.sofar())
			_ = cl.releaseMode(exclusive)
		}
	})
}

// readerLasts: a reader's lease is its own, also if it is longer than that of one that comes later,
// who leaves or does not.
func readerLasts(c *trial) {
	c.play(a.reads(), pass(1, 2), b.reads(), until(9, 10), w.isRefused(), anew())
	for _, leaves := range []bool{false, true} {
		twice := 2 * c.ttl
		cl, err := c.open("long", func(e *impls.Env) { e.Lease = twice })
		if err != nil {
			c.note("a lease of %v is refused: %v", twice, err)
			break
		}
		begin := time.Now()
		cl.mustHold(shared)
		c.say("long reads for twice the lease")
		if c.play(short.reads()); leaves {
			c.play(short.releases())
		}
		time.Sleep(c.cfg.least(twice)*9/10 - time.Since(begin) - c.slack)
		c.say("nine tenths of twice the lease have passed")
		c.play(w.isRefused(), anew())
	}
	if !c.cfg.Traits.Extends {
		return
	}
	c.play(a.reads(), pass(1, 2), fromNow())
	if _, err := c.at(a).extend(); err != nil {
		c.note("a reader extends: %v", err)
		return
	}
	c.say("the reader extended")
	c.play(until(9, 10), w.isRefused())
}

// manyReaders: a writer that asks some of its readers, or as many as one call returns, misses one.
func manyReaders(c *trial) {
	n := 40
	if c.slack > 0 {
		n = 15
	}
	begin := time.Now()
	for _, cl := range c.manyRead(n) {
		cl.dies()
	}
	time.Sleep(c.lease*6/10 - time.Since(begin))
	c.say("%d readers have died", n)
	came := time.Now()
	c.play(next.reads())
	time.Sleep(c.lease + c.lease/20 + c.slack - time.Since(begin))
	c.say("the leases of the dead have ended, and one reads")
	if time.Since(came) < c.lease*9/10-c.slack {
		c.play(w.isRefused())
	}
	for _, fromLast := range []bool{false, true} {
		c.play(anew(), fromNow())
		everybody := c.manyRead(n)
		if fromLast {
			slices.Reverse(everybody)
		}
		stays := everybody[n-1]
		for _, cl := range everybody[:n-1] {
			_ = cl.release()
		}
		if time.Since(c.mark) < c.lease*9/10-c.slack {
			c.say("of %d readers all but %s have left", n, stays.name)
			c.play(w.isRefused())
			_ = stays.release()
			c.say("%s has left", stays.name)
			c.play(w.holds())
		}
	}
}

func (c *trial) manyRead(n int) (everybody []*client) {
	for i := range n {
		cl := c.client(fmt.Sprint("r", i))
		cl.mustHold(shared)
		everybody = append(everybody, cl)
	}
	return everybody
}

func readersWake(c *trial) {
	limit := c.twoPolls(shared)
	c.play(w.holds(), a.waitsFor(shared), b.waitsFor(shared), r.waitsFor(shared), pass(1, 10), w.releases())
	c.together(limit, a, b, r)
}

// downgrade: a writer that takes the read side as well and leaves the write side lets waiting
// readers in at once.
func downgrade(c *trial) {
	limit := c.twoPolls(shared)
	c.play(a.holds())
	if _, err := c.at(a).try(shared); err != nil {
		c.note("a writer that asks to read: %s; it cannot downgrade", c.at(a).outcome(err))
		return
	}
	c.say("a writes and reads")
	c.play(w.isRefused(), r.waitsFor(shared), pass(1, 10), r.stillWaits(), fromNow(), a.leaves(exclusive))
	c.say("a has left the write side and reads on, and r must be woken")
	c.at(r).pending.mustBeGranted(c.due(), limit)
	c.play(w.isRefused(), a.triesToLeave(shared), r.lets(), w.holds())
}

// readerLeaks: many readers come and go, some die, and no trace of them remains.
func readerLeaks(c *trial) {
	cost := func() int {
		c.at(a).wires.requests()
		c.play(a.reads(), a.releases())
		return c.at(a).wires.requests()
	}
	_ = cost() // scripts are loaded from here on
	first := cost()
	for i := range 20 {
		cl := c.manyRead(1)[0]
		if i%4 > 0 {
			cl.mustRelease()
		}
		cl.dies()
	}
	if n := cost(); n > first+2 {
		c.errorf("a reader takes %d requests at first, and %d after 20 others", first, n)
	}
	c.say("all readers have left or died a lease ago")
	c.play(leaseOver(), w.holds(), w.releases(), leaseOver())
	_ = c.leftOver()
}
