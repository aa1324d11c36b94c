package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func leaseLasts(c *trial) {
	a, b := c.client("a"), c.client("b")
	begin := time.Now()
	a.mustHold("the lock is free", exclusive)
	c.sleep(c.lease*9/10 - time.Since(begin) - c.slack)
	b.mustBeRefused("nine tenths of a's lease have passed", exclusive)
	if c.slack > 0 || !c.cfg.Tries {
		return // an attempt may take longer than what is left
	}
	c.sleep(c.lease - grain - time.Since(begin))
	b.mustBeRefused(fmt.Sprintf("all of a's lease has passed but %v", grain), exclusive)
	if c.cfg.Waits && !c.cfg.Traits.FromAsking {
		c.clear()
		c.leaseLastsAfterWait()
	}
}

// leaseLastsAfterWait: a hold that another client hands over has a whole lease, too.
func (c *trial) leaseLastsAfterWait() {
	a, w, b := c.client("a"), c.client("w"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	waits := w.waits(exclusive)
	c.sleep(c.lease / 2)
	begin := time.Now()
	a.mustRelease("a holds")
	if waits.result() != nil {
		return // whether a waiter is granted the lock is a matter of other rules
	}
	c.sleep(c.lease*9/10 - time.Since(begin))
	b.mustBeRefused("w had waited and was granted the lock, and nine tenths of its lease have passed", exclusive)
}

// connectionsCut: a hold ends with its lease, not with a connection of its client, which may be a subscription.
func connectionsCut(c *trial) {
	a, b := c.client("a"), c.client("b")
	begin := time.Now()
	g := a.mustHold("the lock is free", exclusive)
	c.settle()
	a.wires.cutOpen()
	c.settle()
	if _, err := b.try(exclusive); err == nil && !ended(g.Lost) {
		c.errorf("a held the lock and its connections were cut; it was told nothing, and b.%s: granted", b.named("TryLock"))
	}
	for range 3 { // the Redis client notices with the first request on each connection
		if a.release() == nil {
			break
		}
	}
	c.mustGetIn(b, begin, "a held the lock, its connections were cut, and it has released")
}

func leaseEnds(c *trial) {
	a, b := c.client("a"), c.client("b")
	begin := time.Now()
	a.mustHold("the lock is free", exclusive)
	a.dies()
	c.mustGetIn(b, begin, "a died")
	if !c.cfg.Traits.SelfRenewing {
		return
	}
	b.mustRelease("b holds")
	later := c.client("later")
	later.mustHold("the lock is free", exclusive)
	c.sleep(2 * c.lease)
	begin = time.Now()
	later.dies()
	c.mustGetIn(b, begin, "a client died that had renewed its lease for as long as two")
}

func extendRestarts(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	for range 3 { // if each extend added the lease, it would last three leases
		if _, err := a.extend(); err != nil {
			c.fatalf("a holds and extends: %v", err)
		}
	}
	c.sleep(c.lease / 2)
	begin := time.Now()
	if _, err := a.extend(); err != nil {
		c.fatalf("a holds and extends: %v", err)
	}
	c.sleep(c.lease*9/10 - time.Since(begin) - c.slack)
	b.mustBeRefused("nine tenths of the extended lease have passed", exclusive)
	_, _ = a.extend()
	c.lastsLong("has extended its hold", func() {
		for range 20 {
			c.sleep(c.lease / 2)
			_, _ = a.extend()
		}
	})
	c.sleep(c.lease * 9 / 10)
	a.dies()
	c.sleep(c.lease/10 + c.lease/20 + 2*c.slack)
	b.mustHold("the extended lease has ended", exclusive)
}

func slowReply(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.connects()
	a.wires.slow(c.lease + c.lease/5)
	begin := time.Now()
	if g, err := a.try(exclusive); err == nil {
		c.errorf("a is granted the lock with %v to go", time.Until(g.ValidUntil))
	}
	if time.Since(begin) < c.lease { // it gave the request up
		c.mustGetIn(b, begin, "a has given up its request")
		return
	}
	b.mustHold("nothing of a is left", exclusive)
}

func lostGrant(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.connects()
	for n := 1; n <= 3; n++ { // a lock may retry by itself
		a.wires.loseReplies(n)
		begin := time.Now()
		_, err := a.try(exclusive)
		a.wires.loseReplies(0)
		if a.saysBusy(err) {
			c.errorf("a.%s: %s, though nobody else held the lock and only %s", a.named("TryLock"), a.outcome(err), wereLost(n, "reply", "replies"))
		}
		if err == nil {
			a.mustRelease("a was granted the lock in spite of a lost reply")
		}
		c.mustGetIn(b, begin, wereLost(n, "reply of a", "replies of a"))
		b.mustRelease("b holds")
		c.settle() // a lock of several nodes may release some of them in the background
	}
}

// secondAttempt: what a lock sends to take back an attempt without an answer must not meet the hold that the next attempt gave.
func secondAttempt(c *trial) {
	for _, tr := range c.troubles(1)[1:] {
		a, other := c.client("a"), c.client("other")
		a.connects()
		begin := time.Now()
		tr.come(a)
		_, err := a.try(exclusive)
		tr.gone(a)
		c.settle() // a token may be the time of day
		if err != nil {
			c.mustGetIn(a, begin, "it has asked before, and "+tr.name)
		}
		c.sleep(c.lease / 2)
		other.mustBeRefused("a was granted the lock half a lease ago; it had asked before, and "+tr.name, exclusive)
		a.mustRelease("a holds; it had asked before, and " + tr.name)
		a.close()
		c.clear()
	}
}

// unanswered loses requests and replies of a client that asks while another holds, and lets its deadline pass before the reply.
func unanswered(c *trial) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	b.mustHold("the scripts are known from here on", exclusive)
	b.mustRelease("b holds")
	c.settle()
	for _, tr := range c.troubles(mostLost)[1:] {
		c.askWhileHeld(a, b, other, tr.name, func() error { tr.come(b); defer tr.gone(b); _, err := b.try(exclusive); return err })
	}
	c.askWhileHeld(a, b, other, "its deadline passed before the reply", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), c.lease/20)
		defer cancel()
		b.wires.slow(c.lease / 10)
		defer b.wires.slow(0)
		_, err := b.acquire(ctx, exclusive)
		return err
	})
}

// askWhileHeld lets b ask for a lock that a holds, and then requires the hold to be there.
func (c *trial) askWhileHeld(a, b, other *client, what string, ask func() error) {
	begin := time.Now()
	a.mustHold("the lock is free", exclusive)
	if ask() == nil {
		c.fatalf("b.%s succeeded while a held the lock, and %s", b.named("TryLock"), what)
	}
	c.takeBack()
	if time.Since(begin) < c.lease*9/10-c.slack || c.cfg.Traits.SelfRenewing || c.cfg.Traits.NoLease {
		other.mustBeRefused("a holds; b asked, and "+what, exclusive)
		a.mustRelease("a holds; b asked, and " + what)
		return
	}
	_ = a.release()
}

func retriedGrant(c *trial) {
	a, err := c.openRetrying("a", 2)
	c.must(err)
	b := c.client("b")
	a.connects()
	a.wires.loseReplies(1)
	_, err = a.try(exclusive)
	if a.saysBusy(err) {
		c.errorf("a reply is lost, the Redis client sends the request again, nobody else holds, and a's acquire returns %v", err)
	}
	if err == nil {
		a.mustRelease("a was granted the lock")
		b.mustHold("a has released", exclusive)
	}
}

func lostExtend(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the scripts are known from here on", exclusive)
	if _, err := a.extend(); err != nil {
		c.fatalf("a holds and extends: %v", err)
	}
	a.wires.loseReplies(1)
	if _, err := a.extend(); errors.Is(err, impls.ErrLost) || errors.Is(err, impls.ErrNotHeld) {
		c.errorf("a holds, the reply to its extend is lost, and the extend returns %v", err)
	}
	a.wires.loseReplies(0)
	b.mustBeRefused("a holds, and the reply to its extend was lost", exclusive)
	if _, err := a.extend(); err != nil {
		c.errorf("a holds, and extends again after a lost reply: %v", err)
	}
	a.mustRelease("a holds")
}

func lostRelease(c *trial) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	a.mustHold("the lock is free", exclusive)
	begin := time.Now()
	a.wires.loseReplies(2)
	err := a.release()
	a.wires.loseReplies(0)
	if a.saysBusy(err) {
		c.errorf("a.%s, whose reply was lost: %v", a.named("Unlock"), err)
	}
	if err == nil {
		b.mustHold("a.Unlock said nil", exclusive)
	} else {
		c.mustGetIn(b, begin, "a's Unlock failed, for its replies were lost: "+say(err))
	}
	_ = a.release()
	other.mustBeRefused("b holds, and a has released a second time", exclusive)
}

// mustGetIn polls until the lock is granted, at most a lease after begin. It does not depend on the poll interval of the lock's own waiters.
func (c *trial) mustGetIn(cl *client, begin time.Time, why string) {
	took, err := c.getsIn(cl, begin, 10*c.lease)
	if err != nil {
		c.fatalf("%s is not granted the lock within ten leases (%s): %v%s", cl.name, why, err, c.stillThere())
	}
	if c.late(took, c.lease+c.lease/5) {
		c.errorf("%s was granted the lock after %v (%s), want a lease of %v at the most", cl.name, took, why, c.lease)
	}
}

// getsIn polls every fortieth of a lease until the lock is granted, and returns the time since begin.
func (c *trial) getsIn(cl *client, begin time.Time, limit time.Duration) (took time.Duration, err error) {
	for {
		if _, err = cl.try(exclusive); err == nil || time.Since(begin) >= limit {
			return time.Since(begin), err
		}
		c.sleep(c.ttl / 40)
	}
}

func diedOnTheWay(c *trial) {
	for n := 1; n <= 4; n++ {
		a, b := c.client(fmt.Sprint("a", n)), c.client(fmt.Sprint("b", n))
		a.wires.cutAfter(n)
		begin := time.Now()
		_, _ = a.try(exclusive) // the result does not matter: it is dead or has nothing more to send
		a.dies()
		c.mustGetIn(b, begin, fmt.Sprintf("a died after its request no. %d", n))
		b.mustRelease("b holds")
	}
}

// off is a clock with a constant offset.
type off struct{ by time.Duration }

func (o off) Now() time.Time { return time.Now().Add(o.by) }
func (o off) Sleep(ctx context.Context, d time.Duration) error {
	return impls.SystemClock{}.Sleep(ctx, d)
}

func skewedClock(c *trial) {
	for _, leases := range []time.Duration{2, -2} {
		skew := func(e *impls.Env) { e.Clock = off{leases * c.lease} }
		a, wrong := c.client("a"), c.client("wrong", skew)
		a.mustHold("the lock is free", exclusive)
		wrong.mustBeRefused(fmt.Sprintf("a holds, and the other's clock is %d leases off", leases), exclusive)
		a.mustRelease("a holds")
		c.settle() // a lock of several nodes may release some of them in the background
		wrong.mustHold("the lock is free", exclusive)
		wrong.dies()
		c.sleep(c.lease + c.lease/20 + c.slack)
		a.mustHold(fmt.Sprintf("the lease of a dead client has ended whose clock is %d leases off", leases), exclusive)
		a.mustRelease("a holds")
	}
}

// leaseIsSane: locks of package impls must refuse. Another lock may round its lease; it must not turn a lease that ends into a hold that never does.
func leaseIsSane(c *trial) {
	for _, d := range []time.Duration{0, -time.Second, 400 * time.Microsecond, time.Millisecond + time.Microsecond} {
		if !c.cfg.Variant && d <= 0 {
			continue // the library defines what it means
		}
		a, err := c.open("a", func(e *impls.Env) { e.Lease = d })
		if err != nil {
			continue
		}
		if a.exact {
			c.errorf("a lease of %v is accepted", d)
			continue
		}
		begin := time.Now()
		if _, err := a.try(exclusive); err == nil {
			a.dies()
			b := c.client("b")
			if took, err := c.getsIn(b, begin, 10*c.lease); err != nil {
				c.errorf("a.%s succeeded with a lease of %v, and died; b.%s %v later: %s%s", a.named("TryLock"), d, b.named("TryLock"), took, b.outcome(err), c.stillThere())
			}
		}
		a.close()
		c.clear()
	}
}

func scriptsForgotten(c *trial) {
	a := c.client("a")
	a.mustHold("the lock is free", exclusive)
	a.mustRelease("a holds")
	c.settle()
	cost := func() int {
		a.wires.requests()
		a.mustHold("the lock is free", exclusive)
		a.mustRelease("a holds")
		c.settle() // a lock on several nodes may still be sending to some of them
		return a.wires.requests()
	}
	usual := cost()
	for _, n := range c.nodes {
		n.admin.ScriptFlush(context.Background())
	}
	if after := cost(); after > 3*usual { // sent, loaded, and sent again
		c.errorf("acquire and release take %d requests, and %d when the scripts are forgotten", usual, after)
	}
}

// noAnswer: the deadline of a context ends a call even if nobody answers.
func noAnswer(c *trial) {
	c.unanswering(false, "no server answered")
	c.clear()
	c.unanswering(true, "no server could be reached")
}

// unanswering calls every method while requests get no answer, or connections are refused.
func (c *trial) unanswering(refused bool, what string) {
	a := c.client("a")
	inTime := func(call string, f func(ctx context.Context) error) {
		if refused {
			a.wires.unreachable(c.nodes)
			defer a.wires.unreachable(nil)
		} else {
			a.wires.impair(c.nodes, nil)
			defer a.wires.impair(nil, nil)
		}
		ctx, cancel := context.WithTimeout(context.Background(), c.lease/5)
		defer cancel()
		begin := time.Now()
		err := f(ctx)
		if took := time.Since(begin); c.late(took, c.lease/5+c.lease) {
			c.errorf("%s, the context of a.%s ended after %v, and it returned after %v: %s", what, call, c.lease/5, took, a.outcome(err))
		}
		if err == nil {
			c.errorf("%s, and a.%s answered nil", what, call)
		}
	}
	hold := func() {
		a = c.client("a")
		a.mustHold("the lock is free", exclusive)
	}
	hold()
	a.mustRelease("a holds")
	inTime(a.named("Lock"), func(ctx context.Context) error { _, err := a.acquire(ctx, exclusive); return err })
	hold()
	inTime(a.named("Unlock"), a.releaseIn)
	c.clear()
	if c.cfg.Traits.Extends {
		hold()
		inTime("Extend", func(ctx context.Context) (err error) {
			a.do("Extend", func() { _, err = a.lock.Extend(ctx) })
			return err
		})
	}
}
