package locktest

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// twoWaits releases a lock while its client waits for others. Then it ends one of a client's two
// waits, with the lock or without it: the other wait may share its subscription.
func twoWaits(c *trial) {
	limit := c.twoPolls(exclusive)
	held := c.at(b).mustHoldNamed(c.key + "held")
	var waits []namedWait
	for i := range 10 {
		waits = append(waits, c.waitsFor(fmt.Sprint(c.key, i)))
	}
	c.sleep(c.lease / 10)
	begin := time.Now()
	if err := held.release(); err != nil || c.late(time.Since(begin), c.lease/4) {
		c.errorf("b holds a lock and waits for %d others, and %s answered %s after %v", len(waits), held.call("Unlock"), say(err), time.Since(begin))
	}
	for _, w := range waits {
		_, _ = w.end(), w.holds.release()
	}
	for _, granted := range []bool{false, true} {
		c.play(anew())
		first, second := c.waitsFor(c.key), c.waitsFor(c.key+"two")
		c.sleep(c.lease / 10)
		if granted {
			c.say("b waits for two locks and was granted the first")
			_ = first.holds.release()
		} else {
			c.say("b waits for two locks and has given up the first")
			first.cancel()
		}
		select {
		case <-first.done:
			c.sleep(c.lease / 10)
			begin := time.Now()
			if err := second.holds.release(); err != nil {
				c.errorf("%s: %v, though a held it", second.holds.call("Unlock"), err)
			}
			c.say("a has released the second")
			second.mustBeGranted(begin, limit)
		case <-time.After(c.lease / 4): // it looks so seldom that a's other lease may end before
		}
		_, _ = first.end(), second.end()
	}
}

// namedWait is a wait for a lock of another name, which another client holds.
type namedWait struct {
	*waiting
	holds namedLock
}

// waitsFor lets a hold a lock, and b wait for it.
func (c *trial) waitsFor(name string) namedWait {
	held, waiter := c.at(a).mustHoldNamed(name), c.at(b)
	wanted, err := waiter.lockOf(name)
	c.must(err)
	return namedWait{waiter.waitsWith(func(ctx context.Context) (g impls.Grant, err error) {
		waiter.do(waiter.named("Lock"), func() { g, err = wanted.lock.Acquire(ctx, exclusive) })
		return g, err
	}), held}
}

// mustHoldNamed takes a lock of another name, which nobody holds.
func (cl *client) mustHoldNamed(name string) namedLock {
	l, err := cl.lockOf(name)
	cl.c.must(err)
	if err := l.try(); err != nil {
		cl.c.fatalf("%s, which nobody held: %s", l.call("TryLock"), cl.outcome(err))
	}
	return l
}
