package locktest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func excludes(c *C) {
	a, b := c.client("a"), c.client("b")
	for range 2 {
		a.mustHold("the lock is free", exclusive)
		b.mustBeRefused("a holds", exclusive)
		a.mustRelease("a holds")
		b.mustHold("a has released", exclusive)
		a.mustBeRefused("b holds", exclusive)
		b.mustRelease("b holds")
	}
}

func releaseNeedsAHold(c *C) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the lock is free", exclusive)
	if err := b.release(); !errors.Is(err, impls.ErrNotHeld) {
		c.errorf("b holds nothing and releases: %s, want not held", say(err))
	}
	if _, err := b.extend(); !errors.Is(err, impls.ErrNotHeld) && !errors.Is(err, impls.ErrUnsupported) {
		c.errorf("b holds nothing and extends: %s, want not held or unsupported", say(err))
	}
	other.mustBeRefused("a still holds", exclusive)
	a.mustRelease("a still holds")
}

func releaseOnce(c *C) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the lock is free", exclusive)
	a.mustRelease("a holds")
	b.mustHold("a has released", exclusive)
	if err := a.release(); !errors.Is(err, impls.ErrNotHeld) {
		c.errorf("a releases a second time: %s, want not held", say(err))
	}
	other.mustBeRefused("b holds", exclusive)
}

func oneWins(c *C) {
	const racers, rounds = 100, 2
	all := make([]*client, racers)
	for i := range all {
		all[i] = c.client(fmt.Sprint("c", i))
	}
	for range rounds {
		winners := c.race(all)
		if len(winners) > 1 || len(winners) == 0 && len(c.nodes) == 1 { // the votes of several nodes may be split
			c.errorf("%d of %d clients that asked at once hold the lock, want 1", len(winners), racers)
		}
		for _, w := range winners {
			_ = w.release()
		}
		c.deleteKeys() // what a wrong winner left must not spoil the next round
	}
}

// race lets all clients ask at once and gives those that were granted.
func (c *C) race(all []*client) []*client {
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

func noLostUpdate(c *C) {
	const workers, rounds = 4, 5
	var value, lost int // guarded by nothing but the lock under test, save for the race detector's sake
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

func lateRelease(c *C) {
	a, b, other := c.client("a"), c.client("b"), c.client("other")
	a.mustHold("the lock is free", exclusive)
	c.endLease(a)
	b.mustHold("a's lease has ended", exclusive)
	_ = a.release()
	other.mustBeRefused("b holds, and a has released too late", exclusive)
	b.mustRelease("b holds")
}

// endLease lets a hold end as if its client had slept through it: a watchdog, which would sleep too, is spared by deleting the
// keys instead.
func (c *C) endLease(cl *client) {
	if c.cfg.traits.SelfRenewing {
		c.deleteKeys()
		return
	}
	c.sleep(c.lease + 2*time.Millisecond + c.slack)
}

func lateReleaseTold(c *C) {
	a := c.client("a")
	a.mustHold("the lock is free", exclusive)
	c.endLease(a)
	if err := a.release(); !errors.Is(err, impls.ErrLost) && !errors.Is(err, impls.ErrNotHeld) {
		c.errorf("a releases when its lease has ended: %s, want lost", say(err))
	}
}

func lateExtend(c *C) {
	for _, gone := range []bool{false, true} {
		a, b, other := c.client("a"), c.client("b"), c.client("other")
		a.mustHold("the lock is free", exclusive)
		c.endLease(a)
		b.mustHold("a's lease has ended", exclusive)
		if gone {
			b.mustRelease("b holds")
		}
		if _, err := a.extend(); !errors.Is(err, impls.ErrLost) && !errors.Is(err, impls.ErrNotHeld) {
			c.errorf("a extends when its lease has ended (b has released: %v): %s, want lost", gone, say(err))
		}
		if gone {
			other.mustHold("nobody holds, though a has tried to extend", exclusive)
			_ = other.release()
			continue
		}
		b.mustRelease("b holds, though a has tried to extend")
	}
}

func busyIsBusy(c *C) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	_, err := b.try(exclusive)
	for _, not := range []error{impls.ErrUnavailable, impls.ErrUnknownOutcome, impls.ErrCancelled, impls.ErrLost, impls.ErrNotHeld} {
		if errors.Is(err, not) {
			c.errorf("a holds, and b hears %v, which is also %v", err, not)
		}
	}
	if !errors.Is(err, impls.ErrBusy) {
		c.errorf("a holds, and b hears %s, want busy", say(err))
	}
	b.wires.die()
	if _, err := b.try(exclusive); err == nil || errors.Is(err, impls.ErrBusy) {
		c.errorf("no server can be reached, and b hears %s", say(err))
	}
}

func uniqueTokens(c *C) {
	a, b := c.client("a"), c.client("b")
	seen := map[string]bool{}
	for range 5 {
		for _, cl := range []*client{a, b} {
			g := cl.mustHold("the lock is free", exclusive)
			if g.Token == "" || seen[g.Token] {
				c.errorf("client %s is granted token %q, which is empty or was granted before", cl.name, g.Token)
			}
			seen[g.Token] = true
			cl.mustRelease("it holds")
		}
	}
}
