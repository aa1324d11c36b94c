package locktest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func renews(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	_ = b.release()     // what renews may be shared, and found by the lock's name
	for i := range 14 { // more than ten leases
		c.sleep(c.lease*3/4 + c.slack/4)
		b.mustBeRefused(fmt.Sprintf("a has worked for %d quarters of a lease; b, which held nothing, has released at its begin", 3*(i+1)), exclusive)
	}
	c.lastsLong("has worked", func() { c.sleep(c.lease * 10) })
	a.mustRelease("a holds")
	c.settle()
	released := time.Now()
	b.mustHold("a has released", exclusive)
	c.mustBeSilent(a, released, "a has released")
}

// lastsLong lets a hold go on for a thousand leases, beyond every constant that a lock may have, and asks for it now and then as a new client.
// tenLeases passes ten of them.
func (c *trial) lastsLong(what string, tenLeases func()) {
	if c.slack > 0 {
		return
	}
	for i := range 100 {
		tenLeases()
		if i%20 == 19 {
			late := c.client(fmt.Sprint("late", i))
			late.mustBeRefused(fmt.Sprintf("a %s for %d leases", what, 10*(i+1)), exclusive)
			late.close()
		}
	}
}

// mustBeSilent checks that a client sends nothing in the two leases after an instant.
func (c *trial) mustBeSilent(cl *client, since time.Time, why string) {
	c.sleep(2*c.lease + c.slack)
	n, last := c.log.count(cl.name, since)
	if n > 0 {
		c.errorf("%s, and it sent %d requests in the two leases after, at last %s", why, n, last)
	}
}

// renewsOwn: the loss of a hold is reported, the hold is neither renewed nor made anew, and the next client's is left alone, even when that client
// dies.
func renewsOwn(c *trial) {
	a, b := c.client("a"), c.client("b")
	for i := range 2 {
		c.losesHold(a, i+1)
	}
	a2, next := c.client("a2"), c.client("next")
	a2.mustHold("nobody holds: a's keys were deleted, and it has not taken the lock again", exclusive)
	c.settle()
	c.deleteKeys()
	b.mustHold("a2's keys were deleted", exclusive)
	begin := time.Now()
	b.dies()
	c.mustGetIn(next, begin, "a2's keys were deleted, b was granted the lock and died")
}

// losesHold lets a client hold the lock, and deletes the keys.
func (c *trial) losesHold(a *client, n int) {
	g := a.mustHold("nobody holds", exclusive)
	c.settle() // a watchdog may renew at once
	if ended(g.Lost) {
		c.errorf("hold no. %d of a: its Lost is closed, though its keys are there", n)
	}
	c.deleteKeys()
	c.sleep(c.lease + c.slack)
	if c.cfg.Traits.NotifiesLoss && !ended(g.Lost) {
		c.errorf("hold no. %d of a: its keys were deleted a lease ago, and its Lost is not closed", n)
	}
	c.mustBeSilent(a, time.Now(), "a's keys were deleted a lease ago")
	_ = a.release()
}

// ended reports whether a channel is closed.
func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lossInTime: a lock that reaches no server can tell by its own clock when its lease ends.
func lossInTime(c *trial) {
	for _, silent := range []bool{false, true} {
		a, b := c.client("a"), c.client("b")
		asked := time.Now()
		g := a.mustHold("the lock is free", exclusive)
		c.sleep(c.lease * 3 / 4)
		what := "every connection of a is cut"
		if silent {
			what = "no server answers a"
			a.wires.impair(c.nodes, nil)
		} else {
			a.wires.unreachable(c.nodes)
		}
		begin := time.Now()
		if _, err := c.getsIn(b, begin, 3*c.lease); err != nil {
			c.errorf("%s, and three leases later b.%s: %s", what, b.named("TryLock"), b.outcome(err))
			return
		}
		granted := time.Now()
		c.sleep(c.slack)
		if a.believes(asked, g) {
			for a.believes(asked, g) && time.Since(granted) < 3*c.lease {
				c.sleep(c.lease / 40)
			}
			c.errorf("%s, b was granted the lock %v later, and only %v after that a knew that its hold was lost", what, granted.Sub(begin), time.Since(granted))
		}
		a.close()
		_ = b.release()
		b.close()
		c.clear()
	}
}

// believes reports whether the client, which asked at an instant and was granted g, has not been told that its hold has ended.
func (cl *client) believes(asked time.Time, g impls.Grant) bool {
	until := g.ValidUntil
	if until.IsZero() {
		until = asked.Add(cl.c.lease)
	}
	if u, ok := cl.until(); ok && u.After(until) {
		until = u
	}
	return !ended(g.Lost) && until.After(time.Now())
}

func renewalFails(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	g := a.mustHold("the lock is free", exclusive)
	a.wires.loseReplies(1) // of the next renewal: nothing else is sent
	for i := range 3 {
		c.sleep(c.lease*3/4 + c.slack/4)
		b.mustBeRefused(fmt.Sprintf("a has worked for %d quarters of a lease, and one reply to its watchdog was lost", 3*(i+1)), exclusive)
	}
	if ended(g.Lost) {
		c.errorf("one renewal's reply was lost, a holds, and its lock reported a loss")
	}
	a.mustRelease("a holds")
}

// slowRenewals: with every reply delayed by a quarter of a lease the hold is kept, and valid-until stays within the server's lease.
func slowRenewals(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the scripts are known from here on, that of the renewal, too", exclusive)
	c.sleep(c.lease * 5 / 4)
	a.mustRelease("a holds")
	g := a.mustHold("the lock is free", exclusive)
	a.wires.slow(c.lease / 4)
	for i := range 24 {
		c.sleep(c.lease / 8)
		if ended(g.Lost) {
			c.note("a's lock reported a loss, though only replies were slow")
			break
		}
		b.mustBeRefused(fmt.Sprintf("a has worked for %d eighths of a lease with slow replies", i+1), exclusive)
		c.untilIsTrue(a)
	}
	a.wires.slow(0)
}

// untilIsTrue compares the end of the hold as the lock states it with the server's.
func (c *trial) untilIsTrue(a *client) {
	until, ok := a.until()
	ends := c.ends()
	if !ok || len(ends) == 0 {
		return
	}
	left := slices.Max(ends)
	if end := time.Now().Add(left + time.Millisecond + c.slack); until.After(end) {
		c.errorf("a.ValidUntil is %v from now, and the server's lease ends %v from now", time.Until(until), left)
	}
}

func oneWatchdog(c *trial) {
	a := c.client("a")
	count := func() int {
		begin := time.Now()
		c.sleep(2*c.lease + c.lease/20)
		n, _ := c.log.count(a.name, begin)
		return n
	}
	a.mustHold("the lock is free", exclusive)
	once := count()
	a.mustHold("a holds", exclusive)
	a.mustHold("a holds", exclusive)
	if n := count(); n > once+1 {
		c.errorf("%d requests of the watchdog in two leases when a has entered once, and %d when it has entered three times", once, n)
	}
	for range 3 {
		a.mustRelease("a holds")
	}
	c.settle()
	if n := count(); n > 0 {
		c.errorf("%d requests of the watchdog after the last release", n)
	}
}

// renewedAgain: a watchdog that counted entries starts afresh with the next hold, and continues after an inner release.
func renewedAgain(c *trial) {
	a, b := c.client("a"), c.client("b")
	stays := func(when string) {
		for range 3 {
			c.sleep(c.lease*3/4 + c.slack/4)
			b.mustBeRefused(when, exclusive)
		}
	}
	for i := range 2 {
		a.mustHold("the lock is free", exclusive)
		a.mustHold("a holds", exclusive)
		a.mustRelease("a holds twice")
		stays(fmt.Sprintf("hold no. %d of a, which entered twice and has released once", i+1))
		a.mustRelease("a holds")
	}
	b.mustHold("a has released", exclusive)
}

// oneOfTwo releases either of two locks of one client, which may share a watchdog.
func oneOfTwo(c *trial) {
	names := []string{c.key, c.key + "two"}
	for _, released := range names {
		a, other := c.client("a"), c.client("other")
		held := map[string]namedLock{}
		for _, name := range names {
			l, err := a.lockOf(name)
			c.must(err)
			if err := l.try(); err != nil {
				c.fatalf("%s, which nobody held: %s", l.call("TryLock"), a.outcome(err))
			}
			held[name] = l
		}
		if err := held[released].release(); err != nil {
			c.errorf("%s: %v, though a held it", held[released].call("Unlock"), err)
		}
		delete(held, released)
		for kept := range held {
			c.mustStay(other, kept, fmt.Sprintf("a held %s and %s, and has released %s", shortened(names[0]), shortened(names[1]), shortened(released)))
		}
		a.close()
		other.close()
		c.clear()
	}
	for i := range names {
		c.oneIsLost(names[i], names[1-i])
	}
}

// oneIsLost deletes the keys of one of a client's locks: the other must be renewed all the same.
func (c *trial) oneIsLost(first, second string) {
	a, other := c.client("a"), c.client("other")
	defer func() { a.close(); other.close(); c.clear() }()
	take := func(name string) (made map[*node][]string) {
		made = map[*node][]string{}
		for _, n := range c.nodes {
			made[n] = c.keysOf(n)
		}
		l, err := a.lockOf(name)
		c.must(err)
		if err := l.try(); err != nil {
			c.fatalf("%s, which nobody held: %s", l.call("TryLock"), a.outcome(err))
		}
		for _, n := range c.nodes {
			before := made[n]
			made[n] = slices.DeleteFunc(c.keysOf(n), func(k string) bool { return slices.Contains(before, k) })
		}
		return made
	}
	lost := take(first)
	_ = take(second)
	for n, keys := range lost {
		for _, k := range keys {
			n.admin.Del(context.Background(), k)
		}
		c.log.cleared(n)
	}
	c.mustStay(other, second, fmt.Sprintf("a held %s and %s, and the keys of %s were deleted", shortened(first), shortened(second), shortened(first)))
}

// mustStay asks for a lock that another client holds and renews, for more than two leases.
func (c *trial) mustStay(other *client, name, when string) {
	l, err := other.lockOf(name)
	c.must(err)
	for i := range 3 {
		c.sleep(c.lease*3/4 + c.slack/4)
		if err := l.try(); !other.refusal(err) {
			c.errorf("%s; %d quarters of a lease later %s: %s, want a refusal", when, 3*(i+1), l.call("TryLock"), other.outcome(err))
			return
		}
	}
}

// releasedAtOnce: a watchdog that an acquire starts and a release stops must not start after it was stopped.
func releasedAtOnce(c *trial) {
	a, b := c.client("a"), c.client("b")
	for range 50 {
		a.mustHold("the lock is free", exclusive)
		a.mustRelease("a was granted it just now")
	}
	c.settle()
	begin := time.Now()
	b.mustHold("a has released", exclusive)
	c.mustBeSilent(a, begin, "a has acquired and released 50 times at once")
	if c.cfg.Traits.NoLease {
		return
	}
	b.dies()
	c.sleep(c.lease + c.lease/20 + c.slack)
	next := c.client("next")
	next.mustHold("b died more than a lease ago", exclusive)
}

func gaveUpUnrenewed(c *trial) {
	a, b, next := c.client("a"), c.client("b"), c.client("next")
	a.mustHold("the lock is free", exclusive)
	b.waitsInVain(exclusive, c.lease/5)
	a.mustRelease("a holds")
	b.wires.loseReplies(1) // the server may know the grant although b never learns of it
	_, err := b.try(exclusive)
	b.wires.loseReplies(0)
	if err == nil {
		b.mustRelease("it was granted the lock in spite of a lost reply")
	}
	c.settle() // it may have taken back what was not answered
	begin := time.Now()
	c.mustGetIn(next, begin, "b has given up")
	c.mustBeSilent(b, time.Now(), "b was granted nothing and has given up")
}
