package locktest

import (
	"fmt"
	"time"
)

// twoWaits releases a lock while its client waits for others. Then it ends one of a client's two
// waits, with the lock or without it: the other wait may share its subscription.
func twoWaits(c *trial) {
	limit := c.twoPolls(exclusive)
	held := c.at(b).mustHoldNamed(c.key + "held")
	var holders []*client
	var waits []*waiting
	for i := range 10 {
		holder, w := c.waitsFor(fmt.Sprint(c.key, i))
		holders, waits = append(holders, holder), append(waits, w)
	}
	time.Sleep(c.lease / 10)
	begin := time.Now()
	if err := held.release(); err != nil || c.late(time.Since(begin), c.lease/4) {
		c.errorf("b holds a lock and waits for %d others, and %s answered %s after %v", len(waits), held.call("Unlock"), say(err), time.Since(begin))
	}
	for i, w := range waits {
		_, _ = w.end(), holders[i].release()
	}
	for _, granted := range []bool{false, true} {
		c.play(anew())
		a1, first := c.waitsFor(c.key)
		a2, second := c.waitsFor(c.key + "two")
		time.Sleep(c.lease / 10)
		if granted {
			c.say("b waits for two locks and was granted the first")
			_ = a1.release()
		} else {
			c.say("b waits for two locks and has given up the first")
			first.cancel()
		}
		select {
		case <-first.done:
			time.Sleep(c.lease / 10)
			begin := time.Now()
			if err := a2.release(); err != nil {
				c.errorf("%s: %v, though a held it", a2.call("Unlock"), err)
			}
			c.say("a has released the second")
			second.mustBeGranted(begin, limit)
		case <-time.After(c.lease / 4): // it looks so seldom that a's other lease may end before
		}
		_, _ = first.end(), second.end()
	}
}

// waitsFor lets a hold a lock, and b wait for it.
func (c *trial) waitsFor(name string) (holder *client, waits *waiting) {
	holder = c.at(a).mustHoldNamed(name)
	waiter, err := c.at(b).lockOf(name)
	c.must(err)
	return holder, waiter.waits(exclusive)
}

// mustHoldNamed takes a lock of another name, which nobody holds.
func (cl *client) mustHoldNamed(name string) *client {
	l, err := cl.lockOf(name)
	cl.c.must(err)
	if _, err := l.try(exclusive); err != nil {
		cl.c.fatalf("%s, which nobody held: %s", l.call("TryLock"), cl.outcome(err))
	}
	return l
}
