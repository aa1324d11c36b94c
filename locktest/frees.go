package locktest

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// mustBothHold lets two clients try locks of different names.
func (c *trial) mustBothHold(a, b *client, x, y impls.Lock, first, second, how string) {
	try := func(cl *client, l impls.Lock) (err error) {
		p := cl.patient()
		cl.do(cl.named("TryLock"), func() { _, err = l.Try(p, exclusive) })
		keep(p, err)
		return err
	}
	release := func(cl *client, l impls.Lock) (err error) {
		p := cl.patient()
		defer p.Cancel()
		cl.do(cl.named("Unlock"), func() { err = l.Release(p) })
		return err
	}
	if err := try(a, x); err != nil {
		c.errorf("a.%s(%s): %s, though nobody held it", a.named("TryLock"), shortened(first), a.outcome(err))
		return
	}
	if err := try(b, y); err != nil {
		c.errorf("a held %s, and b.%s(%s): %s; the names are one under %s", shortened(first), b.named("TryLock"), shortened(second), b.outcome(err), how)
	} else if err := release(b, y); err != nil {
		c.errorf("b.%s(%s): %v", b.named("Unlock"), shortened(second), err)
	}
	if err := release(a, x); err != nil {
		c.errorf("a.%s(%s) failed after b had released %s: %v; the names are one under %s", a.named("Unlock"), shortened(first), shortened(second), err, how)
	}
}

func shortened(name string) string {
	const most = 40
	if len(name) > most {
		return fmt.Sprintf("%q… (%d bytes)", name[:most/4], len(name))
	}
	return fmt.Sprintf("%q", name)
}

// trouble is what may befall a release.
type trouble struct {
	name string
	come func(c *trial, a *client)
	gone func(a *client)
}

func troubles() []trouble {
	none := func(*client) {}
	all := []trouble{
		{"nothing was wrong", func(*trial, *client) {}, none},
		{"the server had forgotten its scripts", func(c *trial, _ *client) {
			for _, n := range c.nodes {
				n.admin.ScriptFlush(context.Background())
			}
		}, none},
	}
	for n := 1; n <= 3; n++ {
		all = append(all,
			trouble{fmt.Sprintf("%d requests were lost", n), func(_ *trial, a *client) { a.wires.dropRequests(n) }, func(a *client) { a.wires.dropRequests(0) }},
			trouble{fmt.Sprintf("%d replies were lost", n), func(_ *trial, a *client) { a.wires.loseReplies(n) }, func(a *client) { a.wires.loseReplies(0) }})
	}
	return all
}

// releaseFrees: with the Redis client's own retries and without.
func releaseFrees(c *trial) {
	for _, retries := range []int{-1, 3} {
		for _, tr := range troubles() {
			a, err := c.openRetrying("a", retries)
			if err != nil {
				c.fatalf("the lock cannot be made: %v", err)
			}
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
	begin := time.Now()
	tr.come(c, a)
	err := a.release()
	tr.gone(a)
	c.settle()
	if err != nil {
		if c.cfg.traits.NoLease {
			return
		}
		c.mustGetIn(b, begin, fmt.Sprintf("%s, and a.%s answered %s", tr.name, a.named("Unlock"), say(err)))
	} else if _, err := b.try(exclusive); err != nil {
		c.errorf("a.%s answered nil while %s, and b.%s: %s%s", a.named("Unlock"), tr.name, b.named("TryLock"), b.outcome(err), c.stillThere())
	}
	_ = b.release()
}

// lossReturns: a release of a hold that is gone comes back within half a lease, whatever its context, and with its context.
func lossReturns(c *trial) {
	for _, how := range []string{"its keys were deleted", "its keys were deleted and b was granted the lock"} {
		a, b := c.client("a"), c.client("b")
		a.mustHold("the lock is free", exclusive)
		c.deleteKeys()
		if how != "its keys were deleted" {
			b.mustHold("the keys were deleted", exclusive)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), c.lease/2)
		err := a.releaseIn(ctx)
		cancel()
		if took := time.Since(begin); c.late(took, c.lease/2+c.lease/20) {
			c.errorf("a.%s returned %s after %v (%s), and its context had ended after %v", a.named("Unlock"), say(err), took, how, c.lease/2)
		}
		_ = b.release()
		c.clear()
	}
}

// oddLeases looks at the server's clock for what is too long to wait for.
func oddLeases(c *trial) {
	odd := []time.Duration{c.ttl * 3 / 2, c.ttl / 4, c.ttl/2 + time.Millisecond, c.ttl*9/10 - time.Millisecond, 90 * time.Minute, 40 * 24 * time.Hour}
	for _, d := range odd {
		cl, err := c.open("a", func(e *impls.Env) { e.Lease = d })
		if err != nil {
			c.note("a lease of %v is refused: %v", d, err)
			continue
		}
		c.oddLease(cl, d)
		cl.dies()
		c.clear()
	}
}

func (c *trial) oddLease(a *client, d time.Duration) {
	if _, err := a.try(exclusive); err != nil {
		c.note("a.%s with a lease of %v: %s", a.named("TryLock"), d, a.outcome(err))
		return
	}
	kept := c.cfg.kept(d)
	left := c.remaining()
	const grain = 2 * time.Millisecond
	switch {
	case left == 0:
		c.cannotJudge("keys not found: the lock has no key on the server while a client holds it")
	case left < 0:
		c.errorf("a.%s succeeded with a lease of %v, and its key has no end on the server", a.named("TryLock"), d)
	case left < kept-kept/20-grain-c.slack:
		c.errorf("a.%s succeeded with a lease of %v, and the server keeps it for %v", a.named("TryLock"), d, left)
	case left > kept+kept/10+grain+c.slack:
		c.errorf("a.%s succeeded with a lease of %v, and the server keeps it for %v: see ServerLease", a.named("TryLock"), d, left)
	}
}

// cancelledRequest ends the context of an acquire when the server has granted it and the client has not been told. The reply does arrive: there is no
// excuse to leave anything behind. Then its deadline passes before the reply, which is lost for the client: what is left ends with the lease.
func cancelledRequest(c *trial) {
	for _, late := range []bool{false, true} {
		a, b := c.client("a"), c.client("b")
		a.mustHold("the connection is open from here on", exclusive)
		a.mustRelease("a holds")
		begin := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		if late {
			ctx, cancel = context.WithTimeout(context.Background(), c.lease/10)
			a.wires.slow(c.lease / 5)
		} else {
			a.wires.whenAnswered(cancel)
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
	if err == nil { // it was told all the same, and the client holds
		a.mustRelease(what + ", and it was granted the lock")
		b.mustHold("a has released", exclusive)
		_ = b.release()
		return
	}
	c.sleep(c.lease/4 + c.slack) // for what it undoes in the background
	if _, tried := b.try(exclusive); tried == nil {
		_ = b.release()
		return
	}
	if !late {
		c.errorf("%s; it answered %v, and a quarter of a lease later b.%s is refused%s", what, err, b.named("TryLock"), c.stillThere())
	}
	c.mustGetIn(b, begin, what)
}

// leavesNothingRunning ends everything and looks for goroutines.
func leavesNothingRunning(c *trial) {
	a, b := c.client("a"), c.client("b")
	for range 3 {
		a.mustHold("the lock is free", exclusive)
		w := b.waits(exclusive)
		c.sleep(c.lease / 10)
		w.cancel()
		_ = w.result()
		a.mustRelease("a holds")
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

// reuse uses one object and then new ones for many holds.
func reuse(c *trial) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	for _, fresh := range []bool{false, true} {
		for i := range 4 {
			for _, pair := range [][2]*client{{a, b}, {b, a}} {
				holder, next := pair[0], pair[1]
				if fresh {
					c.must(holder.fresh())
				}
				when := fmt.Sprintf("hold no. %d, a new object for each: %v", i+1, fresh)
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

// boundedRequests counts what an acquire and its release cost, and a waiter in a lease.
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
	b.wires.requests()
	w := b.waits(exclusive)
	c.sleep(c.lease * 9 / 10)
	n := b.wires.requests()
	w.cancel()
	_ = w.result()
	if most := perWait * len(c.nodes); n > most {
		c.errorf("a waiter sent %d requests in nine tenths of a lease of %v, want %d at the most: it does not pause", n, c.lease, most)
	}
}

// Bounds of requests by node. Polls come every fortieth of a lease, and libraries have intervals of their own.
const (
	perHold = 10
	perWait = 400
)

// noSpinAfterSignals: wake-ups that nobody took must not keep later waiters busy.
func noSpinAfterSignals(c *trial) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	for range 60 { // each may leave a signal behind
		a.mustHold("the lock is free", exclusive)
		gone := w.waits(exclusive)
		c.sleep(c.lease / 200)
		gone.cancel()
		_ = gone.result()
		a.mustRelease("a holds")
	}
	a.mustHold("the lock is free", exclusive)
	b.wires.requests()
	waits := b.waits(exclusive)
	c.sleep(c.lease / 20)
	n := b.wires.requests()
	waits.cancel()
	_ = waits.result()
	if most := 40 * len(c.nodes); n > most {
		c.errorf("60 waiters had given up before, and a waiter sent %d requests in a twentieth of a lease, want %d at the most", n, most)
	}
}
