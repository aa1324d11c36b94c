package locktest

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// twoWaits ends one of a client's two waits, with the lock or without it: the other wait may share its subscription.
func twoWaits(c *trial) {
	limit := c.twoPolls(exclusive)
	for _, granted := range []bool{false, true} {
		a, b := c.client("a"), c.client("b")
		how := "has given up the first"
		first, second := c.waitsFor(a, b, c.key), c.waitsFor(a, b, c.key+"two")
		c.sleep(c.lease / 10)
		if granted {
			how = "was granted the first"
			_ = first.holds.release()
		} else {
			first.cancel()
		}
		select {
		case <-first.done:
			c.releaseSecond(second, how, limit)
		case <-time.After(c.lease / 4): // it looks so seldom that a's other lease may end before
		}
		first.cancel()
		second.cancel()
		_, _ = first.result(), second.result()
		c.startOver()
	}
}

// releaseSecond releases the second lock and checks that its waiter is granted it, now that the wait for the first is over.
func (c *trial) releaseSecond(second namedWait, how string, limit time.Duration) {
	c.sleep(c.lease / 10)
	begin := time.Now()
	if err := second.holds.release(); err != nil {
		c.errorf("%s: %v, though a held it", second.holds.call("Unlock"), err)
	}
	second.mustBeGranted(begin, limit, fmt.Sprintf("b waits for two locks and %s; a has released the second", how))
}

// namedWait is a wait for a lock of another name, which another client holds.
type namedWait struct {
	*waiting
	holds namedLock
}

// waitsFor lets one client hold a lock, and another wait for it.
func (c *trial) waitsFor(holder, waiter *client, name string) namedWait {
	held, err := holder.lockOf(name)
	c.must(err)
	if err := held.try(); err != nil {
		c.fatalf("%s, which nobody held: %s", held.call("TryLock"), holder.outcome(err))
	}
	wanted, err := waiter.lockOf(name)
	c.must(err)
	return namedWait{waiter.waitsWith(func(ctx context.Context) (g impls.Grant, err error) {
		waiter.do(waiter.named("Lock"), func() { g, err = wanted.lock.Acquire(ctx, exclusive) })
		return g, err
	}), held}
}
