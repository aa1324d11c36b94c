package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// leases are the rules of leases, clocks, and replies that come late or not at all.
func leases() []rule {
	return []rule{
		{"lease-lasts", "Nobody else gets in before the lease has ended.", leased, leaseLasts},
		{"connections-cut", "A hold outlasts the connections of its client, a subscription too, or its client is told.", nil, connectionsCut},
		{"lease-ends", "The lock of a client that died is free when its lease has ended.", leased, play(
			a.holds(), a.dies(), b.getsIn(),
			where(watched, b.releases(), late.holds(), pass(2, 1), fromNow(), late.dies(), b.getsIn()))},
		{"extend-restarts", "An extend starts the lease anew, a thousand times in a row; it adds nothing to it.", all(extends, leased, unwatched), play(
			a.holds(), repeat(3, a.extends()), // if each extend added the lease, it would last three leases
			pass(1, 2), a.extends(), until(9, 10), b.isRefused(),
			a.triesToExtend(), lastsLong(repeat(20, pass(1, 2), a.triesToExtend())),
			pass(9, 10), a.dies(), pass(3, 20), settled(), settled(), b.holds())},
		{"valid-until", "ValidUntil is never later than the end of the lease on the server.", validity, validUntil},
		{"slow-reply", "An acquire whose reply comes after the end of the lease fails, and leaves no key.", validity, slowReply},
		{"lost-grant", "An acquire whose reply is lost never returns ErrBusy, and keeps others out for a lease at most.", leased, lostGrant(3, 0)},
		{"second-attempt", "An acquire after one that got no answer gives a hold that lasts.", leased, secondAttempt},
		{"unanswered", "An acquire that gets no reply while another client holds leaves that hold alone.", nil, unanswered},
		{"retried-grant", "An acquire that the Redis client repeats by itself never returns ErrBusy while nobody else holds, and its release frees the lock.", repeatable, lostGrant(1, 2)},
		{"lost-release", "A release whose reply is lost has freed the lock, and may be repeated.", leased, lostRelease},
		{"lost-extend", "An extend whose reply is lost leaves the hold alone, and may be repeated.", all(extends, leased), lostExtend},
		{"died-on-the-way", "A client that dies at any point of an acquire keeps others out for a lease at most.", leased, diedOnTheWay},
		{"skewed-clock", "A client whose clock is two leases off is not granted a lock that is held, and keeps others out for a lease at most.", all(leased, ofContract), skewedClock},
		{"lease-is-sane", "A lease of zero, below zero, or with a fraction of a millisecond is refused.", leased, leaseIsSane},
		{"odd-leases", "Leases below a second, of fractions of seconds, or very long ones last as long as requested: granted at once, after a wait, or by an extend.", leased, oddLeases},
		{"cancelled-request", "An acquire whose context ends during its request leaves no key: at once if the reply arrives, after a lease at most if it does not.", leased, cancelledRequest},
		{"no-answer", "While no server answers, every call returns an error, a lease after the deadline of its context at the latest.", nil, noAnswer},
		{"scripts-forgotten", "After SCRIPT FLUSH each script costs at most two requests more.", nil, scriptsForgotten},
	}
}

// leaseLasts: a hold has a whole lease, also one that another client hands over.
func leaseLasts(c *trial) {
	c.play(a.holds(), until(9, 10), b.isRefused())
	if c.slack > 0 || !c.cfg.Tries {
		return // an attempt may take longer than what is left
	}
	time.Sleep(time.Until(c.mark.Add(c.least - grain)))
	c.say("all of a's lease has passed but %v", grain)
	c.play(b.isRefused())
	if !c.cfg.Waits || c.cfg.Traits.FromAsking {
		return
	}
	c.play(anew(), a.holds(), w.waits(), pass(1, 2), a.releases())
	if c.at(w).pending.result() == nil { // whether a waiter is granted the lock is a matter of other rules
		c.say("w had waited and was granted the lock")
		c.play(until(9, 10), b.isRefused())
	}
}

// connectionsCut: a hold ends with its lease, not with a connection of its client, which may be a
// subscription.
func connectionsCut(c *trial) {
	begin := time.Now()
	a, b := c.at(a), c.at(b)
	g := a.mustHold(exclusive)
	c.settle()
	a.wires.cut(anyWire)
	c.settle()
	c.say("a held the lock and its connections were cut")
	if _, err := b.try(exclusive); err == nil && !ended(g.Lost) {
		c.errorf("%s; it was told nothing, and b.%s: granted", c.sofar(), b.named("TryLock"))
	}
	for range 3 { // the Redis client notices with the first request on each connection
		if a.release() == nil {
			break
		}
	}
	c.mark = begin
	c.mustGetIn(b)
}

func slowReply(c *trial) {
	c.play(a.knows(), fromNow())
	a := c.at(a)
	a.wires.slow(c.lease + c.lease/5)
	if g, err := a.try(exclusive); err == nil {
		c.errorf("a is granted the lock with %v to go", time.Until(g.ValidUntil))
	}
	if c.say("a asked, and the reply was slow"); time.Since(c.mark) < c.lease { // it gave the request up
		c.play(b.getsIn())
		return
	}
	c.play(b.holds())
}

// lostGrant loses replies to an acquire of a free lock, up to most of them: a lock may retry by
// itself. The Redis client repeats a request so many times, too.
func lostGrant(most, resends int) func(*trial) {
	return func(c *trial) {
		c.resends = resends
		c.play(a.knows())
		for n := 1; n <= most; n++ {
			cl := c.at(a)
			c.play(fromNow(), a.loses(n))
			_, err := cl.try(exclusive)
			c.play(a.hears())
			if cl.saysBusy(err) {
				c.errorf("a.%s: %s, though nobody else held the lock and only %s", cl.named("TryLock"), cl.outcome(err), wereLost(n, "reply", "replies"))
			}
			if begin := c.mark; err == nil {
				c.say("a was granted the lock all the same")
				c.play(a.releases())
				c.mark = begin
			}
			c.play(b.getsIn(), b.releases(), settled()) // a lock of several nodes may release some of them in the background
		}
	}
}

// secondAttempt: what a lock sends to take back an attempt without an answer must not meet the hold
// that the next attempt gave.
func secondAttempt(c *trial) {
	for _, tr := range c.troubles(1)[1:] {
		var err error
		// a token may be the time of day
		c.play(anew(), a.knows(), fromNow(), a.meets(tr, a.does("asked", func(cl *client) { _, err = cl.try(exclusive) })), settled())
		if err != nil {
			c.play(a.getsIn())
		}
		c.play(pass(1, 2), other.isRefused(), a.releases())
	}
}

// unanswered loses requests and replies of a client that asks while another holds, and lets its
// deadline pass before the reply.
func unanswered(c *trial) {
	c.play(b.knows())
	tooLate := trouble{"its deadline passed before the reply", nil, nil}
	for _, tr := range append(c.troubles(mostLost)[1:], tooLate) {
		c.story = nil
		c.play(a.holds())
		begin, err := c.mark, error(nil)
		if tr.come == nil {
			err = c.at(b).askTooLate()
			c.say("b asked, and %s", tr.name)
		} else {
			c.play(b.meets(tr, b.does("asked", func(cl *client) { _, err = cl.try(exclusive) })))
		}
		if err == nil {
			c.fatalf("b.%s succeeded while a held the lock (%s)", c.at(b).named("TryLock"), c.sofar())
		}
		c.takeBack()
		if time.Since(begin) < c.lease*9/10-c.slack || c.cfg.Traits.SelfRenewing || c.cfg.Traits.NoLease {
			c.play(other.isRefused(), a.releases())
			continue
		}
		c.play(a.lets())
	}
}

func lostExtend(c *trial) {
	c.play(a.holds(), a.extends(), a.loses(1))
	if _, err := c.at(a).extend(); errors.Is(err, impls.ErrLost) || errors.Is(err, impls.ErrNotHeld) {
		c.errorf("a holds, the reply to its extend is lost, and the extend returns %v", err)
	}
	c.play(a.hears(), b.isRefused(), a.extends(), a.releases())
}

func lostRelease(c *trial) {
	c.play(a.knows(), a.holds(), a.loses(2))
	cl := c.at(a)
	err := cl.release()
	c.play(a.hears())
	if cl.saysBusy(err) {
		c.errorf("a.%s, whose reply was lost: %v", cl.named("Unlock"), err)
	}
	if c.say("a.%s answered %s", cl.named("Unlock"), say(err)); err == nil {
		c.play(b.holds())
	} else {
		c.play(b.getsIn())
	}
	c.play(a.lets(), other.isRefused())
}

// mustGetIn polls until the lock is granted, at most a lease after the mark. It does not depend on
// the poll interval of the lock's own waiters.
func (c *trial) mustGetIn(cl *client) {
	took, err := c.getsIn(cl, c.due(), 10*c.lease)
	if err != nil {
		c.fatalf("%s is not granted the lock within ten leases (%s): %v%s", cl.name, c.sofar(), err, c.stillThere())
	}
	if c.late(took, c.lease+c.lease/5) {
		c.errorf("%s was granted the lock after %v (%s), want a lease of %v at the most", cl.name, took, c.sofar(), c.lease)
	}
}

// getsIn polls every fortieth of a lease until the lock is granted, and returns the time since
// begin.
func (c *trial) getsIn(cl *client, begin time.Time, limit time.Duration) (took time.Duration, err error) {
	for {
		if _, err = cl.try(exclusive); err == nil || time.Since(begin) >= limit {
			return time.Since(begin), err
		}
		time.Sleep(c.ttl / 40)
	}
}

func diedOnTheWay(c *trial) {
	for n := 1; n <= 4; n++ {
		c.leave()
		c.at(a).wires.cutAfter(n)
		c.say("a died after its request no. %d", n)
		c.play(fromNow(), a.asks(), a.dies(), b.getsIn(), b.releases())
	}
}

// off is a clock with a constant offset.
type off struct {
	impls.SystemClock
	by time.Duration
}

func (o off) Now() time.Time { return time.Now().Add(o.by) }

func skewedClock(c *trial) {
	for _, leases := range []time.Duration{2, -2} {
		c.leave()
		c.at(other, func(e *impls.Env) { e.Clock = off{by: leases * c.lease} })
		c.say("the other's clock is %d leases off", leases)
		// a lock of several nodes may release some of them in the background
		c.play(a.holds(), other.isRefused(), a.releases(), settled(),
			other.holds(), other.dies(), leaseOver(), a.holds(), a.releases())
	}
}

// leaseIsSane: locks of package impls must refuse. Another lock may round its lease; it must not
// turn a lease that ends into a hold that never does.
func leaseIsSane(c *trial) {
	for _, d := range []time.Duration{0, -time.Second, 400 * time.Microsecond, time.Millisecond + time.Microsecond} {
		if !c.cfg.Variant && d <= 0 {
			continue // the library defines what it means
		}
		a, err := c.open("a", func(e *impls.Env) { e.Lease = d })
		if err != nil {
			continue
		}
		if c.cfg.Variant {
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
	c.play(a.knows())
	cost := func() int {
		c.at(a).wires.requests()
		c.play(a.holds(), a.releases(), settled()) // a lock on several nodes may still be sending to some of them
		return c.at(a).wires.requests()
	}
	usual := cost()
	c.forgetScripts()
	if after := cost(); after > 3*usual { // sent, loaded, and sent again
		c.errorf("acquire and release take %d requests, and %d when the scripts are forgotten", usual, after)
	}
}

// noAnswer: the deadline of a context ends a call even if nobody answers, or connections are
// refused.
func noAnswer(c *trial) {
	cl := c.at(a)
	calls := []struct {
		name string
		call func(ctx context.Context) error
	}{
		{cl.named("Lock"), func(ctx context.Context) error { _, err := c.at(a).acquire(ctx, exclusive); return err }},
		{cl.named("Unlock"), func(ctx context.Context) error { return c.at(a).releaseIn(ctx) }},
		{"Extend", func(ctx context.Context) (err error) {
			c.at(a).do("Extend", func() { _, err = c.at(a).lock.Extend(ctx) })
			return err
		}},
	}
	if !c.cfg.Traits.Extends {
		calls = calls[:2]
	}
	for _, how := range []ailment{hanging, down} {
		for i, call := range calls {
			switch c.play(anew()); {
			case i > 0:
				c.play(a.holds())
			case how == hanging: // where the servers are down, it has no connection that could break
				c.play(a.holds(), a.releases())
			}
			c.unanswering(how, call.name, call.call)
		}
	}
}

// unanswering makes a call under a deadline while no server answers.
func (c *trial) unanswering(how ailment, name string, call func(ctx context.Context) error) {
	cl := c.at(a)
	cl.wires.afflict(how, c.nodes)
	defer cl.wires.afflict(well, nil)
	ctx, cancel := context.WithTimeout(context.Background(), c.lease/5)
	defer cancel()
	begin := time.Now()
	err := call(ctx)
	if took := time.Since(begin); c.late(took, c.lease/5+c.lease) {
		c.errorf("all servers are %s, the context of a.%s ended after %v, and it returned after %v: %s", how, name, c.lease/5, took, cl.outcome(err))
	}
	if err == nil {
		c.errorf("all servers are %s, and a.%s answered nil", how, name)
	}
}
