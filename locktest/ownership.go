package locktest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

func excludes(c *trial) {
	a, b := c.client("a"), c.client("b")
	for range 2 {
		a.mustHold("the lock is free", exclusive)
		b.mustBeRefused("a holds", exclusive)
		c.client("late").close()
		b.mustBeRefused("a holds, and another client was started and closed", exclusive)
		a.mustRelease("a holds")
		b.mustHold("a has released", exclusive)
		a.mustBeRefused("b holds", exclusive)
		b.mustRelease("b holds")
	}
}

func releaseNeedsAHold(c *trial) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the lock is free", exclusive)
	b.mustNotRelease("it holds nothing, and a does", impls.ErrNotHeld)
	b.mustNotExtend("it holds nothing, and a does", impls.ErrNotHeld, impls.ErrUnsupported)
	other.mustBeRefused("b, which held nothing, has released", exclusive)
	a.mustRelease("a still holds")
}

func releaseOnce(c *trial) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the lock is free", exclusive)
	a.mustRelease("a holds")
	b.mustHold("a has released", exclusive)
	a.mustNotRelease("a has released before, and b holds", impls.ErrNotHeld)
	other.mustBeRefused("b holds, and a has released a second time", exclusive)
}

func oneWins(c *trial) {
	const racers, rounds = 100, 2
	all := make([]*client, racers)
	for i := range all {
		all[i] = c.client(fmt.Sprint("c", i))
	}
	for range rounds {
		winners := c.race(all)
		if len(winners) > 1 {
			c.errorf("%d of %d clients that asked at once hold the lock, want 1", len(winners), racers)
		}
		if len(winners) == 0 { // the votes of several nodes or keys may be split, and must be given back
			c.sleep(c.lease / 5)
			if !c.log.answeredAll() { // one that a busy server did not give back in time ends with its lease
				c.sleep(c.lease)
			}
			all[0].mustHold(fmt.Sprintf("none of %d clients that asked at once was granted the lock, and one asks again", racers), exclusive)
			winners = all[:1]
		}
		for _, w := range winners {
			_ = w.release()
		}
		c.clear() // keys of a wrong winner must not affect the next round
	}
}

// race lets all clients try at once and returns those that were granted.
func (c *trial) race(all []*client) []*client {
	start := make(chan struct{})
	won := make([]bool, len(all))
	var racing sync.WaitGroup
	for i, cl := range all {
		racing.Go(func() {
			<-start
			_, err := cl.try(exclusive)
			won[i] = err == nil
		})
	}
	close(start)
	racing.Wait()
	var winners []*client
	for i, cl := range all {
		if won[i] {
			winners = append(winners, cl)
		}
	}
	return winners
}

func noLostUpdate(c *trial) {
	const workers, rounds = 4, 5
	var value, lost int // guarded only by the lock under test, apart from keeping the race detector quiet
	var guard sync.Mutex
	read := func() int { guard.Lock(); defer guard.Unlock(); return value }
	write := func(v int) { guard.Lock(); defer guard.Unlock(); value = v }
	var working sync.WaitGroup
	for i := range workers {
		cl := c.client(fmt.Sprint("c", i))
		working.Go(func() {
			for range rounds {
				if w := cl.waits(exclusive); w.result() != nil {
					c.errorf("client %s is not granted the lock: %v", cl.name, w.err)
					return
				}
				seen := read()
				time.Sleep(c.lease / 50)
				write(seen + 1)
				_ = cl.release()
			}
		})
	}
	working.Wait()
	if lost = workers*rounds - read(); lost > 0 {
		c.errorf("%d of %d updates were lost", lost, workers*rounds)
	}
}

// askedAgain: a refusal must not replace the token of the hold, nor stop its watchdog.
func askedAgain(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	c.settle() // a token may be the time of day
	begin := time.Now()
	_, err := a.try(exclusive)
	if took := time.Since(begin); c.late(took, c.lease/4) {
		c.cannotJudge("a.%s took %v: little of the lease is left", a.named("TryLock"), took)
	}
	if err == nil { // it may enter again
		_, _ = a.release(), a.release()
		b.mustHold("a was granted the lock twice and has released twice", exclusive)
		return
	}
	if c.cfg.Traits.SelfRenewing {
		c.sleep(2 * c.lease)
	}
	b.mustBeRefused("a holds, and was refused when it asked again", exclusive)
	if err := a.release(); err != nil {
		c.errorf("a held, asked again and was refused, and then a.%s: %v%s", a.named("Unlock"), err, c.stillThere())
	}
	c.settle()
	if _, err := b.try(exclusive); err != nil {
		c.errorf("a held, asked again and was refused, and has released; b.%s: %s%s", b.named("TryLock"), b.outcome(err), c.stillThere())
	}
}

// tryReturns: what a TryLock may take is a part of the lease, for requests to several nodes.
func tryReturns(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	begin := time.Now()
	_, err := b.try(exclusive)
	if took := time.Since(begin); c.late(took, c.lease/4) {
		c.errorf("a held the lock, every reply came at once, and b.TryLock: %s after %v", b.outcome(err), took)
	}
}

func lateRelease(c *trial) {
	most := mostLost
	if c.slack > 0 {
		most = 1 // each takes a lease
	}
	for _, modes := range c.pairsOfModes() {
		for _, tr := range c.troubles(most) {
			c.releaseLate(modes, tr)
			c.clear()
		}
	}
}

// releaseLate lets a release come after the lease, under a fault.
func (c *trial) releaseLate(modes [2]history.Mode, tr trouble) {
	a, b, other := c.client("a"), c.client("ab"), c.client("other") // b's name, and so its token, may begin with a's
	defer a.close()
	a.mustHold("the scripts are known from here on", modes[0])
	_ = a.releaseMode(modes[0])
	a.mustHold("the lock is free", modes[0])
	c.endLease(a)
	b.mustHold("a's lease has ended", modes[1])
	tr.come(a)
	_ = a.releaseMode(modes[0])
	tr.gone(a)
	c.settle()
	other.mustBeRefused("ab holds; a has released too late, and "+tr.name, exclusive)
	if err := b.releaseMode(modes[1]); err != nil {
		c.errorf("ab holds; a has released too late, %s, and ab's release: %v", tr.name, err)
	}
}

// pairsOfModes are the modes of two holds of which the first has ended.
func (c *trial) pairsOfModes() [][2]history.Mode {
	if !c.cfg.Traits.Shared {
		return [][2]history.Mode{{exclusive, exclusive}}
	}
	return [][2]history.Mode{{exclusive, exclusive}, {exclusive, shared}, {shared, exclusive}}
}

func lateEntry(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	c.endLease(a)
	b.mustHold("a's lease has ended", exclusive)
	a.mustBeRefused("a's lease has ended, and b holds", exclusive)
	b.mustRelease("b holds")
}

// endLease lets a hold end as if its client had been paused. A watchdog, which would have been paused too, is simulated by deleting the keys.
func (c *trial) endLease(cl *client) {
	if c.cfg.Traits.SelfRenewing {
		c.deleteKeys()
		return
	}
	c.sleep(c.lease + 2*time.Millisecond + c.slack)
}

func lateReleaseFails(c *trial) {
	a := c.client("a")
	a.mustHold("the lock is free", exclusive)
	c.endLease(a)
	a.mustNotRelease("a's lease has ended", impls.ErrLost, impls.ErrNotHeld)
}

func lateExtend(c *trial) {
	c.extendLate("a's lease has ended", c.endLease)
	c.clear()
	c.extendLate("a's keys were deleted", func(*client) { c.clear() })
	c.clear()
	for _, gone := range []bool{false, true} {
		a, b, other := c.client("a"), c.client("b"), c.client("other")
		a.mustHold("the lock is free", exclusive)
		c.endLease(a)
		b.mustHold("a's lease has ended", exclusive)
		if gone {
			b.mustRelease("b holds")
		}
		a.mustNotExtend(fmt.Sprintf("its lease has ended and b was granted the lock; b has released: %v", gone), impls.ErrLost, impls.ErrNotHeld)
		if until, ok := a.until(); ok && until.After(time.Now()) && !c.cfg.Traits.SelfRenewing {
			c.errorf("a's lease has ended, a.Extend was refused, and a.ValidUntil is %v from now", time.Until(until))
		}
		if gone {
			other.mustHold("nobody holds, though a has tried to extend", exclusive)
			_ = other.release()
			continue
		}
		b.mustRelease("b holds, though a has tried to extend")
	}
}

// extendLate: a refused extend must not move the end of another client's lease.
func (c *trial) extendLate(how string, end func(*client)) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the lock is free", exclusive)
	end(a)
	begin := time.Now()
	b.mustHold(how, exclusive)
	b.wires.cutAll()
	c.sleep(c.lease / 2)
	_, err := a.extend()
	c.mustGetIn(other, begin, how+", b was granted the lock and died, and then a.Extend: "+a.outcome(err))
	other.mustRelease("it holds")
}

func busyIsBusy(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	_, err := b.try(exclusive)
	for _, not := range []error{impls.ErrUnavailable, impls.ErrUnknownOutcome, impls.ErrCancelled, impls.ErrLost, impls.ErrNotHeld} {
		if b.exact && errors.Is(err, not) {
			c.errorf("a holds, and b's acquire returns %v, which is also %v", err, not)
		}
	}
	if !b.refusal(err) {
		c.errorf("b.%s: %s while a held the lock, want a refusal", b.named("TryLock"), b.outcome(err))
	}
	b.wires.cutAll()
	if _, err := b.try(exclusive); err == nil || b.saysBusy(err) {
		c.errorf("b.%s: %s, and no server can be reached, want an error", b.named("TryLock"), b.outcome(err))
	}
	if c.nodes[0].mini == nil {
		return // a server of its own would be needed, which has no room left
	}
	next := c.client("next")
	a.mustRelease("a holds")
	c.answer(serverError)
	defer c.answer("")
	if _, err := next.try(exclusive); err == nil || next.saysBusy(err) {
		c.errorf("next.%s: %s, and the server answers every request with %q, want an error", next.named("TryLock"), next.outcome(err), serverError)
	}
}

// serverError is what a server without memory answers.
const serverError = "OOM command not allowed when used memory > 'maxmemory'."

// answer makes the simulated servers answer every request with an error, or with "" as usual.
func (c *trial) answer(err string) {
	for _, n := range c.nodes {
		n.mini.SetError(err)
	}
}

// uniqueTokens: in package impls every grant has its own token; another lock's token may name the owner.
func uniqueTokens(c *trial) {
	a, b := c.client("a"), c.client("b")
	seen := map[string]*client{}
	for range 5 {
		for _, cl := range []*client{a, b} {
			g := cl.mustHold("the lock is free", exclusive)
			if before := seen[g.Token]; g.Token == "" || before != nil && (cl.exact || before != cl) {
				c.errorf("%s is granted token %q, which is empty or was granted before", cl.name, g.Token)
			}
			seen[g.Token] = cl
			if now := cl.token(g); now != g.Token {
				c.errorf("%s is granted token %q, and its token is %q afterwards", cl.name, g.Token, now)
			}
			cl.mustRelease("it holds")
		}
	}
}
