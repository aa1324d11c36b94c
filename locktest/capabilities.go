package locktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// capabilities are the rules for locks with fences, entries, permits or several nodes.
func capabilities() []rule {
	return []rule{
		{"fences-grow", "Every grant has a higher fence than every grant before it.", fenced, fencesGrow},
		{"fences-race", "Fences grow in the order of the holds when many clients contend.", fenced, fencesRace},
		{"counts-entries", "A holder that acquires again keeps the lock until its last release; one release more returns ErrNotHeld.", reentrant, play(
			repeat(3, a.holds(), b.isRefused()), repeat(3, b.isRefused(), a.releases()),
			a.cannotRelease(impls.ErrNotHeld), b.holds(), b.releases())},
		{"inner-release", "An inner release leaves the outer hold a whole lease.", all(reentrant, leased), play(
			a.holds(), a.holds(), a.releases(), a.dies(), until(6, 10), b.isRefused())},
		{"lost-entry", "An entry whose reply is lost leaves the outer hold alone, and keeps others out for a lease at most.", all(reentrant, leased), lostEntry},
		{"permits", "There are never more holders than permits, one release too many adds none, and a dead holder's permit comes back within a lease, and no other with it, though others come and go.", permitted, permits},
		{"permits-wake", "Permits that are released at once let as many waiters in.", permitted, permitsWake},
		{"quorum", "Whichever nodes are taken, down, hanging or losing replies, a lock on several nodes is granted if and only if the others are a majority; a failed attempt and a release leave no key on any node that can be reached.", severalNodes, quorum},
		{"replica-missing", "A lock that replicas must confirm fails without them, with another error than ErrBusy, and leaves no key.", replicated, replicaMissing},
	}
}

func fencesGrow(c *trial) {
	last := uint64(0)
	grows := func(p who) step {
		return p.does("holds", func(cl *client) {
			g := cl.mustHold(exclusive)
			if g.Fence <= last {
				c.errorf("%s: fence %d after fence %d", c.sofar(), g.Fence, last)
			}
			last = g.Fence
		})
	}
	c.play(repeat(3, grows(a), a.releases(), grows(b), b.lapses(), grows(a), a.releases()))

	many := 1100 // fences that a lock may make of the time and a counter
	if c.slack > 0 {
		many = 20
	}
	c.play(repeat(many, grows(a), a.releases()))
	time.Sleep(time.Second)
	c.story = nil
	c.say("a second has passed after %d grants", many)
	c.play(grows(a), a.releases())
	if c.outliveCount() {
		c.say("every key that had an end is gone")
		c.play(grows(a), a.releases())
	}
	for _, bits := range []uint{31, 32} { // a thousand grants a second reach them in 25 and in 50 days
		many := uint64(1)<<bits - 2
		if last >= many || !c.recount(last, many) {
			c.note("no key with the value of the last fence, %d, was found: how fences go on at 2^%d is not tried", last, bits)
			return
		}
		last = many
		c.say("2^%d grants were counted", bits)
		c.play(repeat(3, grows(a), a.releases()))
	}
}

// recount gives another value to the keys that have the given one, and reports whether there are
// any.
func (c *trial) recount(from, to uint64) (found bool) {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			if v, err := n.admin.Get(context.Background(), k).Uint64(); err == nil && v == from {
				found = n.admin.Set(context.Background(), k, to, redis.KeepTTL).Err() == nil || found
			}
		}
	}
	return found
}

// outliveCount waits until every key with an expiry is gone: the counter of fences must not be one
// of them.
func (c *trial) outliveCount() bool {
	for range 2 {
		ends := c.ends()
		if len(ends) == 0 {
			return true
		}
		left := slices.Max(ends)
		if c.slack > 0 && left > 3*c.lease {
			c.note("a key ends in %v: whether fences go on then is not tried in real time", left)
			return false
		}
		time.Sleep(left + grain + c.slack)
	}
	return true
}

// fencesRace lets clients contend and checks the fences in the order of the holds.
func fencesRace(c *trial) {
	var guard sync.Mutex // protects last in case the lock under test does not
	last := uint64(0)
	c.contend(6, func(g impls.Grant, cl *client) {
		guard.Lock()
		if g.Fence <= last {
			c.errorf("%s is granted fence %d after another was granted fence %d", cl.name, g.Fence, last)
		}
		last = max(last, g.Fence)
		guard.Unlock()
		time.Sleep(c.lease / 100)
	})
}

func lostEntry(c *trial) {
	c.play(a.knows(), a.holds(), a.loses(1))
	begin := c.mark
	if _, err := c.at(a).try(exclusive); c.at(a).saysBusy(err) {
		c.errorf("a holds and enters again, the reply is lost, and its acquire returns %v", err)
	}
	c.play(a.hears(), b.isRefused(), a.releases())
	c.mark = begin
	c.play(b.getsIn())
}

// together checks that all waiters are granted the lock within a limit after the mark, without a
// release.
func (c *trial) together(limit time.Duration, everybody ...who) {
	begin := c.due()
	c.say("all that waited must get in together")
	for _, p := range everybody {
		c.at(p).pending.mustBeGranted(begin, limit)
	}
}

func permitsWake(c *trial) {
	for _, p := range []who{a, b, next, other} {
		c.at(p, func(e *impls.Env) { e.Permits = 2 })
	}
	c.play(a.holds(), b.holds(), next.waits(), other.waits(), pass(1, 10), a.releases(), b.releases())
	c.together(c.lease/20, next, other)
}

func permits(c *trial) {
	const n = 3
	names := []who{a, b, w, next, other}
	var everybody []*client
	for _, p := range names {
		everybody = append(everybody, c.at(p, func(e *impls.Env) { e.Permits = n }))
	}
	if won := c.race(everybody); len(won) != n {
		c.errorf("%d of %d clients that asked at once hold a permit, want %d", len(won), len(everybody), n)
	}
	c.endLease()
	if !c.cfg.Traits.NoLease {
		c.at(dead, func(e *impls.Env) { e.Permits = n })
		c.play(dead.holds(), dead.dies(), repeat(4, a.holds(), pass(1, 4), a.lets()), pass(1, 20), settled())
	}
	c.say("all permits have come back")
	c.play(a.holds(), b.holds(), w.holds(), next.isRefused(), a.lets(), a.lets(), next.holds(), other.isRefused())
	if !c.cfg.Traits.NoLease {
		c.play(b.lets(), w.lets(), next.lets())
		c.at(short, func(e *impls.Env) { e.Permits = n })
		c.play(short.holds(), short.dies(), pass(1, 2), a.holds(), b.holds(), next.isRefused(), pass(6, 10), settled(),
			next.holds(), other.isRefused())
	}
}
