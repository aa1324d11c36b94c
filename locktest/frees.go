package locktest

import (
	"context"
	"fmt"
	"time"
)

// trouble is a fault around a call.
type trouble struct {
	name       string
	come, gone func(cl *client) // gone may be nil
}

// troubles returns the faults, with up to most requests or replies lost.
func (c *trial) troubles(most int) []trouble {
	all := []trouble{
		{"nothing was wrong", func(*client) {}, nil},
		{"the server had forgotten its scripts", func(*client) { c.forgetScripts() }, nil},
	}
	for n := 1; n <= most; n++ {
		all = append(all,
			trouble{wereLost(n, "request", "requests"), func(cl *client) { cl.wires.dropRequests(n) }, func(cl *client) { cl.wires.dropRequests(0) }},
			trouble{wereLost(n, "reply", "replies"), func(cl *client) { cl.wires.loseReplies(n) }, func(cl *client) { cl.wires.loseReplies(0) }})
	}
	if c.nodes[0].fake != nil {
		all = append(all, trouble{"the server answered with an error", func(*client) { c.answer(serverError) }, func(*client) { c.answer("") }})
	}
	return all
}

// mostLost is how many messages in a row are lost: a call may try again.
const mostLost = 3

// meets takes a step of a client during a trouble.
func (p who) meets(tr trouble, s step) step {
	return p.does("", func(cl *client) {
		tr.come(cl)
		s.do(cl.c)
		if tr.gone != nil {
			tr.gone(cl)
		}
		cl.c.say("%s, and %s", s.said, tr.name)
	})
}

// wereLost says how many messages were lost.
func wereLost(n int, one, more string) string {
	if n == 1 {
		return "1 " + one + " was lost"
	}
	return fmt.Sprintf("%d %s were lost", n, more)
}

func (c *trial) forgetScripts() {
	for _, n := range c.nodes {
		n.admin.ScriptFlush(context.Background())
	}
}

// serverError is what a server without memory answers.
const serverError = "OOM command not allowed when used memory > 'maxmemory'."

// answer makes the simulated servers answer every request with an error, or with "" as usual.
func (c *trial) answer(err string) {
	for _, n := range c.nodes {
		n.fake.Fail(err)
	}
}

// releaseFrees tries both with and without the Redis client's own retries, and at the end of the
// lease, which some leave to end by itself.
func releaseFrees(c *trial) {
	late := trouble{"nine tenths of its lease had passed", func(*client) { time.Sleep(c.lease * 9 / 10) }, nil}
	for _, c.resends = range []int{0, 3} {
		for _, tr := range append(c.troubles(mostLost), late) {
			c.play(anew(), a.knows(), a.holds())
			var err error
			c.play(a.meets(tr, a.does("releases", func(cl *client) { c.mark, err = time.Now(), cl.release() })), settled())
			c.frees(c.at(a), err)
		}
	}
}

// frees checks that a release which answered nil has freed the lock, and that it is free within a
// lease after any other answer.
func (c *trial) frees(cl *client, err error) {
	c.say("%s.%s answered %s", cl.name, cl.named("Unlock"), say(err))
	switch {
	case err == nil:
		c.play(b.findsFree())
	case !c.cfg.Traits.NoLease:
		c.play(b.getsIn())
	}
}

// lossReturns: after the hold is gone, release returns within half a lease with any context, and at
// the latest when its context ends; it leaves the next client's hold alone, even one that began in
// the same millisecond.
func lossReturns(c *trial) {
	for _, taken := range []bool{false, true} {
		c.play(anew(), a.holds(), deleted())
		if taken {
			c.play(b.holds())
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), c.lease/2)
		err := c.at(a).releaseIn(ctx)
		cancel()
		took := time.Since(begin)
		if c.late(took, c.lease/2+c.lease/20) {
			c.errorf("a.%s returned %s after %v (%s), and its context had ended after %v", c.at(a).named("Unlock"), say(err), took, c.sofar(), c.lease/2)
		}
		if c.say("a released"); taken && took < c.lease/2 {
			c.play(other.isRefused())
		}
	}
}

// cancelledRequest ends the context of an acquire after the server has granted it and before the
// client gets the reply. The reply does arrive, so the lock must leave nothing behind. Then the
// deadline passes before the reply and the client never gets it: what is left must end with the
// lease.
func cancelledRequest(c *trial) {
	for _, late := range []bool{false, true} {
		c.play(anew(), a.knows(), fromNow())
		c.story = nil
		cl, taker := c.at(a), c.at(b)
		ctx, cancel := context.WithCancel(context.Background())
		if late {
			ctx, cancel = context.WithTimeout(context.Background(), c.lease/10)
			cl.wires.slow(c.lease / 5)
			c.say("the deadline of a.%s passed before the reply", cl.named("Lock"))
		} else {
			cl.wires.whenAnswered(1, cancel)
			c.say("the context of a.%s was cancelled when the server had granted the lock", cl.named("Lock"))
		}
		_, err := cl.acquire(ctx, exclusive)
		cancel()
		cl.wires.slow(0)
		if err == nil { // it returned a grant all the same, and the client holds
			c.play(a.releases(), b.holds())
			continue
		}
		c.takeBack()
		if _, tried := taker.try(exclusive); tried == nil {
			continue
		}
		if !late {
			c.errorf("%s; it answered %v, and a quarter of a lease later b.%s is refused%s", c.sofar(), err, taker.named("TryLock"), c.stillThere())
		}
		c.mustGetIn(taker)
	}
}

const afterItsEnd = "under a context that had ended"

// contextEnded: the end of a successful acquire's context may end the hold, but must not prevent
// its release. And a call whose context has ended before it does its work or returns an error.
func contextEnded(c *trial) {
	cl := c.at(a)
	ended, cancel := context.WithTimeout(context.Background(), 10*c.lease)
	_, err := cl.acquire(ended, exclusive)
	cancel()
	if err != nil {
		c.fatalf("a.%s: %s, though nobody held the lock", cl.named("Lock"), cl.outcome(err))
	}
	c.settle()
	c.say("the context of a.%s was cancelled when it had returned", cl.named("Lock"))
	err = cl.release()
	c.say("a.%s, under one of its own, answered %s", cl.named("Unlock"), say(err))
	time.Sleep(c.lease/10 + c.slack)
	c.play(b.findsFree())

	c.play(anew(), a.knows(), fromNow())
	cl = c.at(a)
	_, err = cl.acquire(ended, exclusive)
	if c.say("a.%s %s answered %s", cl.named("Lock"), afterItsEnd, say(err)); err != nil {
		c.play(b.getsIn())
	} else {
		c.play(b.isRefused(), a.releases())
	}

	c.play(anew(), a.holds())
	cl = c.at(a)
	err = cl.releaseIn(ended)
	if c.say("a.%s %s answered %s", cl.named("Unlock"), afterItsEnd, say(err)); err != nil {
		c.play(a.lets())
	}
	c.settle()
	c.frees(cl, err)

	if !c.cfg.Traits.Extends {
		return
	}
	c.play(anew(), a.holds(), pass(1, 2), fromNow())
	cl = c.at(a)
	cl.do("Extend", func() { _, err = cl.lock.Extend(ended) })
	if c.say("a.Extend %s answered %s", afterItsEnd, say(err)); err == nil && !c.cfg.Traits.NoLease {
		c.play(until(9, 10), b.isRefused())
	}
}

// leavesNothingRunning closes everything and looks for goroutines.
func leavesNothingRunning(c *trial) {
	for n := range 3 {
		c.play(a.holds(), b.givesUp(exclusive, 1, 10), a.releases())
		// the reply to an acquire is lost, and the next one's context ends before the reply
		cl := c.at(b)
		cl.wires.loseReplies(n + 1)
		_, _ = cl.try(exclusive)
		cl.wires.loseReplies(0)
		_ = cl.askTooLate()
		_ = cl.release()
		time.Sleep(c.lease + c.lease/20 + c.slack) // for what is left of them
		if _, err := cl.try(exclusive); err != nil {
			c.clear() // what stays for longer is a matter of other rules
			continue
		}
		_ = cl.release()
	}
	everybody := c.all()
	c.leave()
	time.Sleep(2*c.lease + poolLinger)
	for _, cl := range everybody {
		if left := goroutines(labelTrial, c.id, labelClient, cl.name); left != "" {
			c.errorf("%s has released, everything is closed, and goroutines stay (if the lock has a Close, give it to the kit):\n%s", cl.name, left)
		}
	}
}

// askTooLate asks under a deadline that passes before the reply.
func (cl *client) askTooLate() error {
	ctx, cancel := context.WithTimeout(context.Background(), cl.c.lease/20)
	defer cancel()
	cl.wires.slow(cl.c.lease / 10)
	defer cl.wires.slow(0)
	_, err := cl.acquire(ctx, exclusive)
	return err
}

// boundedRequests counts the requests of an acquire and its release, and of a holder and a waiter
// during some leases.
func boundedRequests(c *trial) {
	c.play(a.knows())
	cl, waiter := c.at(a), c.at(b)
	cl.wires.requests()
	c.play(a.holds(), a.releases(), settled())
	if n, most := cl.wires.requests(), perHold*len(c.nodes); n > most {
		c.errorf("an acquire that met nobody and its release took %d requests, want %d at the most", n, most)
	}
	c.play(a.holds())
	cl.wires.requests()
	waiter.wires.requests()
	w := waiter.waits(exclusive)
	wait := c.least * 9 / 10
	if c.cfg.Traits.SelfRenewing { // a renewal may set off what does not end
		wait = 3 * c.lease
	}
	time.Sleep(wait)
	renewed, asked := cl.wires.requests(), waiter.wires.requests()
	_ = w.end()
	if most := perPoll * int(wait/(c.lease/40)) * len(c.nodes); renewed+asked > most {
		c.errorf("in %v with a lease of %v a waiter sent %d requests and the holder %d, want %d at the most: they do not pause", wait, c.lease, asked, renewed, most)
	}
	_ = cl.release() // whether the hold was kept so long is a matter of other rules
	c.takeBack()
	c.play(repeat(fewHolds, a.holds(), a.releases()))
	if n, most := cl.wires.count(anyWire), perClient*len(c.nodes); n > most {
		c.errorf("a has acquired and released %d times, and has %d connections open, want %d at the most", fewHolds+3, n, most)
	}
}

// Limits on requests per node. The kit polls every fortieth of a lease; libraries have intervals of
// their own.
const (
	perHold   = 10
	perPoll   = 5
	perClient = 15 // connections
	fewHolds  = 20
)

// noSpinAfterSignals: each of 60 releases may leave a wake-up behind that nobody takes; a later
// waiter must not be kept busy by them.
func noSpinAfterSignals(c *trial) {
	c.play(repeat(60, a.holds(), w.givesUp(exclusive, 1, 200), a.releases()), repeat(60, a.holds(), a.releases()), a.holds())
	cl := c.at(b)
	cl.wires.requests()
	waits := cl.waits(exclusive)
	time.Sleep(c.lease / 20)
	n := cl.wires.requests()
	_ = waits.end()
	if most := 40 * len(c.nodes); n > most {
		c.errorf("60 waiters had given up before, and as often nobody had waited; a waiter sent %d requests in a twentieth of a lease, want %d at the most", n, most)
	}
}
