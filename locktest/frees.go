package locktest

import (
	"context"
	"fmt"
	"time"
)

// trouble is a fault around a release.
type trouble struct {
	name       string
	come, gone func(a *client)
}

// troubles returns the faults, with up to most requests or replies lost.
func (c *trial) troubles(most int) []trouble {
	none := func(*client) {}
	all := []trouble{
		{"nothing was wrong", none, none},
		{"the server had forgotten its scripts", func(*client) {
			for _, n := range c.nodes {
				n.admin.ScriptFlush(context.Background())
			}
		}, none},
	}
	for n := 1; n <= most; n++ {
		all = append(all,
			trouble{wereLost(n, "request", "requests"), func(a *client) { a.wires.dropRequests(n) }, func(a *client) { a.wires.dropRequests(0) }},
			trouble{wereLost(n, "reply", "replies"), func(a *client) { a.wires.loseReplies(n) }, func(a *client) { a.wires.loseReplies(0) }})
	}
	if c.nodes[0].mini != nil {
		all = append(all, trouble{"the server answered with an error", func(*client) { c.answer(serverError) }, func(*client) { c.answer("") }})
	}
	return all
}

// mostLost is how many messages in a row are lost: a release may try again.
const mostLost = 3

// releaseFrees tries both with and without the Redis client's own retries, and at the end of the lease, which some leave to end by itself.
func releaseFrees(c *trial) {
	late := trouble{"nine tenths of its lease had passed", func(*client) { c.sleep(c.lease * 9 / 10) }, func(*client) {}}
	for _, retries := range []int{-1, 3} {
		for _, tr := range append(c.troubles(mostLost), late) {
			a, err := c.openRetrying("a", retries)
			c.must(err)
			b := c.client("b")
			a.mustHold("the scripts are known from here on", exclusive)
			a.mustRelease("a holds")
			c.releaseUnder(tr, a, b)
			a.close()
			b.close()
			c.clear()
		}
	}
}

func (c *trial) releaseUnder(tr trouble, a, b *client) {
	a.mustHold("the lock is free", exclusive)
	tr.come(a)
	begin := time.Now()
	err := a.release()
	tr.gone(a)
	c.settle()
	if err != nil {
		if c.cfg.Traits.NoLease {
			return
		}
		c.mustGetIn(b, begin, fmt.Sprintf("%s, and a.%s answered %s", tr.name, a.named("Unlock"), say(err)))
	} else if _, err := b.try(exclusive); err != nil {
		c.errorf("a.%s answered nil while %s, and b.%s: %s%s", a.named("Unlock"), tr.name, b.named("TryLock"), b.outcome(err), c.stillThere())
	}
	_ = b.release()
}

// lossReturns: after the hold is gone, release returns within half a lease with any context, and at the latest when its context ends; it leaves the
// next client's hold alone, even one that began in the same millisecond.
func lossReturns(c *trial) {
	for _, taken := range []bool{false, true} {
		a, b, other := c.client("a"), c.client("b"), c.client("other")
		how := "its keys were deleted"
		a.mustHold("the lock is free", exclusive)
		c.deleteKeys()
		if taken {
			how += " and b was granted the lock"
			b.mustHold("the keys were deleted", exclusive)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), c.lease/2)
		err := a.releaseIn(ctx)
		cancel()
		if took := time.Since(begin); c.late(took, c.lease/2+c.lease/20) {
			c.errorf("a.%s returned %s after %v (%s), and its context had ended after %v", a.named("Unlock"), say(err), took, how, c.lease/2)
		}
		if taken && time.Since(begin) < c.lease/2 {
			other.mustBeRefused("b holds, and a has released a hold that was gone", exclusive)
		}
		_ = b.release()
		c.clear()
	}
}

// cancelledRequest ends the context of an acquire after the server has granted it and before the client gets the reply. The reply does arrive, so the
// lock must leave nothing behind. Then the deadline passes before the reply and the client never gets it: what is left must end with the lease.
func cancelledRequest(c *trial) {
	for _, late := range []bool{false, true} {
		a, b := c.client("a"), c.client("b")
		a.connects()
		begin := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		if late {
			ctx, cancel = context.WithTimeout(context.Background(), c.lease/10)
			a.wires.slow(c.lease / 5)
		} else {
			a.wires.whenAnswered(1, cancel)
		}
		_, err := a.acquire(ctx, exclusive)
		cancel()
		a.wires.slow(0)
		c.afterCancel(a, b, begin, late, err)
		a.close()
		b.close()
		c.clear()
	}
}

func (c *trial) afterCancel(a, b *client, begin time.Time, late bool, err error) {
	what := fmt.Sprintf("the context of a.%s was cancelled when the server had granted the lock", a.named("Lock"))
	if late {
		what = fmt.Sprintf("the deadline of a.%s passed before the reply", a.named("Lock"))
	}
	if err == nil { // it returned a grant all the same, and the client holds
		a.mustRelease(what + ", and it was granted the lock")
		b.mustHold("a has released", exclusive)
		_ = b.release()
		return
	}
	c.takeBack()
	if _, tried := b.try(exclusive); tried == nil {
		_ = b.release()
		return
	}
	if !late {
		c.errorf("%s; it answered %v, and a quarter of a lease later b.%s is refused%s", what, err, b.named("TryLock"), c.stillThere())
	}
	c.mustGetIn(b, begin, what)
}

// contextEnded: the end of a successful acquire's context may end the hold, but must not prevent its release. And a call whose context has ended
// before it does its work or returns an error.
func contextEnded(c *trial) {
	a, b := c.client("a"), c.client("b")
	ctx, cancel := context.WithTimeout(context.Background(), 10*c.lease)
	_, err := a.acquire(ctx, exclusive)
	cancel()
	if err != nil {
		c.fatalf("a.%s: %s, though nobody held the lock", a.named("Lock"), a.outcome(err))
	}
	c.settle()
	err = a.release()
	c.sleep(c.lease/10 + c.slack)
	if _, tried := b.try(exclusive); tried != nil {
		c.errorf("the context of a.%s was cancelled when it had returned; a.%s, under one of its own, answered %s, and b.%s: %s%s",
			a.named("Lock"), a.named("Unlock"), say(err), b.named("TryLock"), b.outcome(tried), c.stillThere())
	}
	c.startOver()
	c.acquireEnded(ctx)
	c.startOver()
	c.releaseEnded(ctx)
	c.startOver()
	if c.cfg.Traits.Extends {
		c.extendEnded(ctx)
	}
}

const afterItsEnd = "under a context that had ended"

func (c *trial) acquireEnded(ended context.Context) {
	a, b := c.client("a"), c.client("b")
	a.connects()
	begin := time.Now()
	if _, err := a.acquire(ended, exclusive); err != nil {
		c.mustGetIn(b, begin, fmt.Sprintf("a.%s %s answered %s", a.named("Lock"), afterItsEnd, a.outcome(err)))
		return
	}
	b.mustBeRefused(fmt.Sprintf("a.%s %s answered nil", a.named("Lock"), afterItsEnd), exclusive)
	a.mustRelease("it was granted the lock " + afterItsEnd)
}

func (c *trial) releaseEnded(ended context.Context) {
	a, b := c.client("a"), c.client("b")
	begin := time.Now()
	a.mustHold("the lock is free", exclusive)
	err := a.releaseIn(ended)
	c.settle()
	if err != nil {
		_ = a.release()
		if !c.cfg.Traits.NoLease {
			c.mustGetIn(b, begin, fmt.Sprintf("a.%s %s answered %s", a.named("Unlock"), afterItsEnd, say(err)))
		}
	} else if _, tried := b.try(exclusive); tried != nil {
		c.errorf("a.%s %s answered nil, and b.%s: %s%s", a.named("Unlock"), afterItsEnd, b.named("TryLock"), b.outcome(tried), c.stillThere())
	}
}

func (c *trial) extendEnded(ended context.Context) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	c.sleep(c.lease / 2)
	begin := time.Now()
	var err error
	a.do("Extend", func() { _, err = a.lock.Extend(ended) })
	if err == nil && !c.cfg.Traits.NoLease {
		c.sleep(c.lease*9/10 - time.Since(begin) - c.slack)
		b.mustBeRefused(fmt.Sprintf("a.Extend %s answered nil, and nine tenths of its lease have passed since", afterItsEnd), exclusive)
	}
}

// leavesNothingRunning closes everything and looks for goroutines.
func leavesNothingRunning(c *trial) {
	a, b := c.client("a"), c.client("b")
	for n := range 3 {
		a.mustHold("the lock is free", exclusive)
		b.waitsInVain(exclusive, c.lease/10)
		a.mustRelease("a holds")
		c.failAnAcquire(b, n)
	}
	a.close()
	b.close()
	c.sleep(2*c.lease + poolLinger)
	for _, cl := range []*client{a, b} {
		if left := goroutines(labelTrial, c.id, labelClient, cl.name); left != "" {
			c.errorf("%s has released, everything is closed, and goroutines stay (if the lock has a Close, give it to the kit):\n%s", cl.name, left)
		}
	}
}

// closes closes a lock whose hold has passed to another client, and one that still holds.
func closes(c *trial) {
	a, b, other, next := c.client("a"), c.client("b"), c.client("other"), c.client("next")
	a.mustHold("the lock is free", exclusive)
	c.endLease(a)
	b.mustHold("a's lease has ended", exclusive)
	a.shut()
	other.mustBeRefused("b holds; a, whose lease had ended, is closed", exclusive)
	b.mustRelease("b holds, and a is closed")
	next.mustHold("the lock is free", exclusive)
	begin := time.Now()
	next.shut()
	c.settle()
	closed := time.Now()
	c.mustGetIn(other, begin, "next was closed while it held")
	c.mustBeSilent(next, closed, "next is closed")
}

// failAnAcquire loses the reply to an acquire, and lets the next one's context end before the reply.
func (c *trial) failAnAcquire(cl *client, n int) {
	cl.wires.loseReplies(n + 1)
	_, _ = cl.try(exclusive)
	cl.wires.loseReplies(0)
	ctx, cancel := context.WithTimeout(context.Background(), c.lease/20)
	defer cancel()
	cl.wires.slow(c.lease / 10)
	_, _ = cl.acquire(ctx, exclusive)
	cl.wires.slow(0)
	_ = cl.release()
	c.sleep(c.lease + c.lease/20 + c.slack) // for what is left of them
	if _, err := cl.try(exclusive); err != nil {
		c.clear() // what stays for longer is a matter of other rules
		return
	}
	_ = cl.release()
}

// wereLost says how many messages were lost.
func wereLost(n int, one, more string) string {
	if n == 1 {
		return "1 " + one + " was lost"
	}
	return fmt.Sprintf("%d %s were lost", n, more)
}

// reuse makes many holds with one object, and then with new ones.
func reuse(c *trial) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	for _, fresh := range []bool{false, true} {
		objects := "all of one object"
		if fresh {
			objects = "each of a new object"
		}
		for i := range 4 {
			for _, pair := range [][2]*client{{a, b}, {b, a}} {
				holder, next := pair[0], pair[1]
				if fresh {
					c.must(holder.fresh())
				}
				when := fmt.Sprintf("hold %d of 4, %s", i+1, objects)
				holder.mustHold(when, exclusive)
				next.mustBeRefused(when, exclusive)
				other.mustBeRefused(when, exclusive)
				if fresh {
					c.must(next.fresh())
					_ = next.release() // a new object of another client
					other.mustBeRefused(when+", and a new object of another client has released", exclusive)
				}
				holder.mustRelease(when)
			}
		}
	}
}

func (c *trial) must(err error) {
	if err != nil {
		c.fatalf("the lock cannot be made: %v", err)
	}
}

// boundedRequests counts the requests of an acquire and its release, and of a holder and a waiter during some leases.
func boundedRequests(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	a.wires.requests()
	a.mustHold("the lock is free", exclusive)
	a.mustRelease("a holds")
	c.settle()
	if n, most := a.wires.requests(), perHold*len(c.nodes); n > most {
		c.errorf("an acquire that met nobody and its release took %d requests, want %d at the most", n, most)
	}
	a.mustHold("the lock is free", exclusive)
	a.wires.requests()
	b.wires.requests()
	w := b.waits(exclusive)
	wait := c.lease * 9 / 10
	if c.cfg.Traits.SelfRenewing { // a renewal may set off what does not end
		wait = 3 * c.lease
	}
	c.sleep(wait)
	renewed, asked := a.wires.requests(), b.wires.requests()
	_ = w.end()
	if most := perPoll * int(wait/(c.lease/40)) * len(c.nodes); renewed+asked > most {
		c.errorf("in %v with a lease of %v a waiter sent %d requests and the holder %d, want %d at the most: they do not pause", wait, c.lease, asked, renewed, most)
	}
	_ = a.release() // whether the hold was kept so long is a matter of other rules
	c.takeBack()
	for range fewHolds {
		a.mustHold("the lock is free", exclusive)
		a.mustRelease("a holds")
	}
	if n, most := a.wires.connections(), perClient*len(c.nodes); n > most {
		c.errorf("a has acquired and released %d times, and has %d connections open, want %d at the most", fewHolds+3, n, most)
	}
}

// Limits on requests per node. The kit polls every fortieth of a lease; libraries have intervals of their own.
const (
	perHold   = 10
	perPoll   = 5
	perClient = 15 // connections
	fewHolds  = 20
)

// noSpinAfterSignals: unused wake-ups must not keep later waiters busy.
func noSpinAfterSignals(c *trial) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	for range 60 { // each release may leave an unused signal behind
		a.mustHold("the lock is free", exclusive)
		w.waitsInVain(exclusive, c.lease/200)
		a.mustRelease("a holds")
	}
	for range 60 {
		a.mustHold("the lock is free", exclusive)
		a.mustRelease("a holds, and nobody waits")
	}
	a.mustHold("the lock is free", exclusive)
	b.wires.requests()
	waits := b.waits(exclusive)
	c.sleep(c.lease / 20)
	n := b.wires.requests()
	_ = waits.end()
	if most := 40 * len(c.nodes); n > most {
		c.errorf("60 waiters had given up before, and as often nobody had waited; a waiter sent %d requests in a twentieth of a lease, want %d at the most", n, most)
	}
}
