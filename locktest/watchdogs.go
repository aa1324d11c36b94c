package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// watchdogs are the rules for locks that renew, and for what must not be renewed.
func watchdogs() []rule {
	return []rule{
		{"renews", "A watchdog keeps the lock for as long as the work takes, a thousand leases if it must, and stops at the release.", watched, play(
			a.holds(), b.lets(), // what renews may be shared, and found by the lock's name
			keeps(14), lastsLong(pass(10, 1)), a.releases(), settled(), fromNow(), b.findsFree(), a.isSilent())},
		{"renews-own", "A watchdog whose hold is gone reports the loss, of each hold anew, and neither renews another's hold nor takes the lock again.", watched, renewsOwn},
		{"renewal-fails", "A watchdog survives one renewal whose reply is lost.", watched, renewalFails},
		{"one-watchdog", "A holder that entered again is renewed as often as one that entered once.", all(reentrant, watched), oneWatchdog},
		{"one-of-two", "A client that holds two locks and releases or loses one goes on renewing the other.", watched, oneOfTwo},
		{"slow-renewals", "A watchdog keeps the lock though replies are slow, and ValidUntil is never later than the end of the lease on the server.", watched, slowRenewals},
		{"renewed-again", "A holder that entered again is renewed after an inner release, and in its next hold.", all(reentrant, watched), play(
			a.holds(), a.holds(), a.releases(), keeps(3), a.releases(),
			happens("hold no. 2", func(c *trial) { c.story = nil }),
			a.holds(), a.holds(), a.releases(), keeps(3), a.releases(), b.holds())},
		{"loss-in-time", "A client that reaches no server knows that its hold is lost before another client is granted the lock.", all(watched, leased, tellsLoss), lossInTime},
		{"released-at-once", "A release right after the acquire stops the watchdog.", nil, play(
			repeat(50, a.holds(), a.releases()), settled(), fromNow(), b.findsFree(), a.isSilent(), where(leased, b.dies(), leaseOver(), next.holds()))},
		{"gave-up-unrenewed", "An acquire that was cancelled renews nothing.", watched, gaveUpUnrenewed},
	}
}

// keeps asks n times in three quarters of a lease each for a lock that a holds and renews.
func keeps(n int) step {
	return happens("", func(c *trial) {
		for i := range n {
			time.Sleep(c.lease*3/4 + c.slack/4)
			c.say("a has worked for %d quarters of a lease", 3*(i+1))
			c.at(b).mustBeRefused(exclusive)
		}
	})
}

// lastsLong lets a hold of a go on for a thousand leases, beyond every constant that a lock may
// have, and asks for it now and then as a new client. tenLeases passes ten of them.
func lastsLong(tenLeases step) step {
	return happens("a has held for a thousand leases", func(c *trial) {
		if c.slack > 0 {
			return
		}
		for i := range 100 {
			tenLeases.do(c)
			if i%20 == 19 {
				c.say("a has held for %d leases", 10*(i+1))
				late := c.client(fmt.Sprint("late", i))
				late.mustBeRefused(exclusive)
				late.close()
			}
		}
	})
}

// mustBeSilent checks that a client sends nothing in the two leases after an instant.
func (c *trial) mustBeSilent(cl *client, since time.Time) {
	time.Sleep(2*c.lease + c.slack)
	n, last := c.log.count(cl.name, since)
	if n > 0 {
		c.errorf("%s sent %d requests in two leases, at last %s, and should have nothing to send (%s)", cl.name, n, last, c.sofar())
	}
}

// renewsOwn: the loss of a hold is reported, the hold is neither renewed nor made anew, and the
// next client's is left alone, even when that client dies.
func renewsOwn(c *trial) {
	for i := range 2 {
		cl := c.at(a)
		g := cl.mustHold(exclusive)
		c.settle() // a watchdog may renew at once
		if ended(g.Lost) {
			c.errorf("hold no. %d of a: its Lost is closed, though its keys are there", i+1)
		}
		c.play(deleted(), leaseOver())
		if c.cfg.Traits.NotifiesLoss && !ended(g.Lost) {
			c.errorf("hold no. %d of a: its keys were deleted a lease ago, and its Lost is not closed", i+1)
		}
		c.play(fromNow(), a.isSilent(), a.lets())
	}
	c.play(w.holds(), settled(), deleted(), b.holds(), b.dies(), next.getsIn())
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
	for _, how := range []ailment{down, hanging} {
		c.play(anew())
		a, b := c.at(a), c.at(b)
		asked := time.Now()
		g := a.mustHold(exclusive)
		time.Sleep(c.lease * 3 / 4)
		a.wires.afflict(how, c.nodes)
		what := fmt.Sprintf("all servers are %s for a", how)
		begin := time.Now()
		if _, err := c.getsIn(b, begin, 3*c.lease); err != nil {
			c.errorf("%s, and three leases later b.%s: %s", what, b.named("TryLock"), b.outcome(err))
			return
		}
		granted := time.Now()
		c.settle() // its notice may come at the same instant
		if a.believes(asked, g) {
			for a.believes(asked, g) && time.Since(granted) < 3*c.lease {
				time.Sleep(c.lease / 40)
			}
			c.errorf("%s, b was granted the lock %v later, and only %v after that a knew that its hold was lost", what, granted.Sub(begin), time.Since(granted))
		}
	}
}

// believes reports whether the client, which asked at an instant and was granted g, has not been
// told that its hold has ended.
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
	c.play(a.knows())
	g := c.at(a).mustHold(exclusive)
	c.at(a).wires.loseReplies(1) // of the next renewal: nothing else is sent
	c.say("one reply to a's watchdog was lost")
	c.play(keeps(3))
	if ended(g.Lost) {
		c.errorf("one renewal's reply was lost, a holds, and its lock reported a loss")
	}
	c.play(a.releases())
}

// slowRenewals: with every reply delayed by a quarter of a lease the hold is kept, and valid-until
// stays within the server's lease.
func slowRenewals(c *trial) {
	c.play(a.holds(), pass(5, 4), a.releases()) // the script of the renewal is known, too
	a, b := c.at(a), c.at(b)
	g := a.mustHold(exclusive)
	a.wires.slow(c.lease / 4)
	c.story = nil
	c.say("a has slow replies")
	for range 24 {
		time.Sleep(c.lease / 8)
		if ended(g.Lost) {
			c.note("a's lock reported a loss, though only replies were slow")
			break
		}
		b.mustBeRefused(exclusive)
		until, ok := a.until()
		ends := c.ends()
		if !ok || len(ends) == 0 {
			continue
		}
		left := slices.Max(ends)
		if end := time.Now().Add(left + time.Millisecond + c.slack); until.After(end) {
			c.errorf("a.ValidUntil is %v from now, and the server's lease ends %v from now", time.Until(until), left)
		}
	}
	a.wires.slow(0)
}

func oneWatchdog(c *trial) {
	count := func() int {
		begin := time.Now()
		time.Sleep(2*c.lease + c.lease/20)
		n, _ := c.log.count("a", begin)
		return n
	}
	c.play(a.holds())
	once := count()
	c.play(a.holds(), a.holds())
	if n := count(); n > once+1 {
		c.errorf("%d requests of the watchdog in two leases when a has entered once, and %d when it has entered three times", once, n)
	}
	c.play(repeat(3, a.releases()), settled())
	if n := count(); n > 0 {
		c.errorf("%d requests of the watchdog after the last release", n)
	}
}

// oneOfTwo releases either of two locks of one client, which may share a watchdog, or deletes its
// keys: the other must be renewed all the same.
func oneOfTwo(c *trial) {
	for i := range 4 {
		names := []string{c.key, c.key + "two"}
		if i == 3 {
			slices.Reverse(names)
		}
		c.play(anew())
		first := c.at(a).mustHoldNamed(names[0])
		keys := map[*node][]string{}
		for _, n := range c.nodes {
			keys[n] = c.keysOf(n)
		}
		second := c.at(a).mustHoldNamed(names[1])
		c.say("a held %s and %s", shortened(names[0]), shortened(names[1]))
		if i == 1 {
			first, second = second, first
		}
		if i > 1 {
			c.del(keys)
			c.say("the keys of %s were deleted", shortened(first.env.Key))
		} else if err := first.release(); err != nil {
			c.errorf("%s: %v, though a held it", first.call("Unlock"), err)
		} else {
			c.say("it has released %s", shortened(first.env.Key))
		}
		// the other is asked for, for more than two leases
		cl := c.at(other)
		l, err := cl.lockOf(second.env.Key)
		c.must(err)
		for i := range 3 {
			time.Sleep(c.lease*3/4 + c.slack/4)
			if _, err := l.try(exclusive); !cl.refusal(err) {
				c.errorf("%s; %d quarters of a lease later %s: %s, want a refusal", c.sofar(), 3*(i+1), l.call("TryLock"), cl.outcome(err))
				break
			}
		}
	}
}

func gaveUpUnrenewed(c *trial) {
	// the server may know the grant although b never learns of it
	c.play(a.holds(), b.givesUp(exclusive, 1, 5), a.releases(), b.loses(1))
	_, err := c.at(b).try(exclusive)
	c.play(b.hears())
	if err == nil {
		c.play(b.releases())
	}
	c.play(settled(), fromNow(), next.getsIn(), fromNow(), b.isSilent()) // it may have taken back what was not answered
}
