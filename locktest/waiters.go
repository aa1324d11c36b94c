package locktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

func waits(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	w := b.waits(exclusive)
	c.sleep(c.lease / 5)
	if w.over() {
		c.fatalf("a holds, and b's acquire has ended: %s", say(w.err))
	}
	a.mustRelease("a holds")
	if w.result() != nil {
		c.fatalf("a has released, and b is not granted the lock: %v", w.err)
	}
	b.mustRelease("b holds")
}

// waitsLong: others keep a waiter out for many leases, so that pauses that grow without end are longer than a lease at the last release.
func waitsLong(c *trial) {
	leases := 9 // the waiter's context has ten
	if c.slack > 0 {
		leases = 4
	}
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	a.mustHold("the lock is free", exclusive)
	start := time.Now()
	waits := w.waits(exclusive)
	free := c.handOn(a, b, waits, leases)
	err := waits.result()
	switch took := waits.at.Sub(free); {
	case waits.gaveUp:
		c.note("w was kept out, and w.%s gave up by itself after %v: %s", w.named("Lock"), waits.at.Sub(start), w.outcome(err))
	case err != nil:
		c.errorf("w was kept out for %v, and is not granted the lock %v after the last release: %s%s", free.Sub(start), took, w.outcome(err), c.log.lastOf("w"))
	case c.late(took, c.lease+c.lease/20):
		c.errorf("w was kept out for %v, and was granted the lock %v after the last release, want a lease of %v at the most", free.Sub(start), took, c.lease)
	}
}

// handOn lets two clients hold the lock in turn, each at once after the other, and returns when it was released last. It ends early if the waiter gets
// in between.
func (c *trial) handOn(holder, next *client, waits *waiting, leases int) (free time.Time) {
	for left := 2*leases - 1; ; left-- {
		c.sleep(c.lease/2 - c.lease/300) // not a multiple of a poll interval
		free = time.Now()
		holder.mustRelease("it holds")
		if left == 0 || waits.over() {
			return free
		}
		if _, err := next.try(exclusive); err != nil {
			return free // it is the waiter's turn
		}
		holder, next = next, holder
	}
}

// deadline ends a wait early, and when a lock that backs off sleeps long.
func deadline(c *trial) {
	for _, after := range []time.Duration{c.lease / 5, c.lease * 3 / 5} {
		c.givesUp(after + c.lease/150) // between two tries of a lock that polls
	}
}

func (c *trial) givesUp(after time.Duration) {
	a, b, next := c.client("a"), c.client("b"), c.client("next")
	a.mustHold("the lock is free", exclusive)
	w := b.waits(exclusive)
	c.sleep(after)
	begin := time.Now()
	w.cancel()
	gaveUp := begin.Add(c.lease / takeBackShare) // until then it may take back its request
	if err := w.result(); err == nil || b.exact && !errors.Is(err, impls.ErrCancelled) {
		c.errorf("b.%s: %s, though its context had ended while a held the lock", b.named("Lock"), b.outcome(err))
	}
	if took := w.at.Sub(begin); c.late(took, c.lease/10) {
		c.errorf("b's acquire ended %v after its context", took)
	}
	if b.exact && errors.Is(w.err, impls.ErrUnknownOutcome) && c.slack == 0 {
		c.errorf("every request of b was answered, and yet: %v", w.err)
	}
	a.mustRelease("a holds")
	next.mustHold("a has released and b has given up", exclusive)
	next.mustRelease("it holds")
	c.sleep(time.Until(gaveUp) + c.slack)
	next.mustHold("nobody has held the lock since b has given up", exclusive)
	next.mustRelease("it holds")
	c.noSubscription()
	c.noKeys()
	c.mustBeSilent(b, gaveUp, "b has given up")
}

// pollInterval measures the interval at which a waiter polls the lock. It is 0 for a lock that wakes its waiters: it promises to, or the waiter subscribes or
// blocks.
func (c *trial) pollInterval(mode history.Mode) time.Duration {
	if c.cfg.Traits.Wakeups {
		return 0
	}
	a, b := c.client("holder"), c.client("watched")
	defer b.close()
	defer a.close()
	a.mustHold("the lock is free", exclusive)
	begin := time.Now()
	w := b.waits(mode)
	c.sleep(c.lease * 9 / 10)
	pause, woken := c.log.pause(b.name, begin)
	woken = woken || b.wires.subscriptions() > 0
	w.cancel()
	if w.result() == nil {
		_ = b.releaseMode(mode)
	}
	_ = a.release()
	c.clear()
	if woken {
		return 0
	}
	return pause
}

// twoPolls is how long a waiter may take to see that the lock is free.
func (c *trial) twoPolls(mode history.Mode) time.Duration {
	return max(c.lease/20, 2*c.pollInterval(mode))
}

// noSubscription checks that no channel has subscribers. The server may notice a closed connection a little later.
func (c *trial) noSubscription() {
	c.settle()
	for _, n := range c.nodes {
		for _, channel := range n.admin.PubSubChannels(context.Background(), "*").Val() {
			if c.ofLock(channel) {
				c.errorf("channel %s still has a subscriber", channel)
			}
		}
	}
}

func deadWaiter(c *trial) {
	look := c.pollInterval(exclusive)
	a, dead, next := c.client("a"), c.client("dead"), c.client("next")
	a.mustHold("the lock is free", exclusive)
	w := dead.waits(exclusive)
	c.sleep(c.lease / 5)
	died := time.Now()
	dead.wires.cutAll()
	_ = w.end()
	after := next.waits(exclusive)
	c.sleep(c.lease / 10)
	a.mustRelease("a holds")
	after.mustBeGranted(died, c.lease+max(c.lease/10, look), "a waiter has died, a has released")
	c.startOver()
	c.unheardWaiter(look)
}

// unheardWaiter loses one reply to a waiter: whether it goes on or fails, others are delayed by a lease at most.
func (c *trial) unheardWaiter(look time.Duration) {
	a, unheard, next := c.client("a"), c.client("unheard"), c.client("next")
	a.mustHold("the lock is free", exclusive)
	unheard.wires.loseReplies(1)
	w := unheard.waits(exclusive)
	c.sleep(c.lease / 5)
	lost := time.Now()
	unheard.wires.loseReplies(0)
	after := next.waits(exclusive)
	c.sleep(c.lease / 10)
	a.mustRelease("a holds")
	if !w.over() {
		c.sleep(max(c.lease/10, look))
	}
	if w.over() && w.err == nil {
		unheard.mustRelease("it was granted the lock in spite of a lost reply")
		lost = time.Now()
	} else {
		go func() {
			if w.result() == nil {
				_ = unheard.release()
			}
		}()
	}
	after.mustBeGranted(lost, c.lease+max(c.lease/5, 2*look), "a waiter has lost one reply, a has released")
	w.cancel()
	_ = w.result()
}

func keysDeleted(c *trial) {
	look := c.pollInterval(exclusive)
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	w := b.waits(exclusive)
	c.sleep(c.lease / 5)
	begin := time.Now()
	c.deleteKeys()
	if c.cfg.Traits.Extends {
		a.mustNotExtend("its keys were deleted", impls.ErrLost)
	}
	w.mustBeGranted(begin, max(c.lease, 2*look), "the keys are deleted")
}

// waiterRequests is after how many of a waiter's first requests a release is tried: a try, a subscription and a second try, and what precedes them on
// their connections.
const waiterRequests = 8

// releasedBetween releases when the server has answered a request of the waiter and the waiter does not know the answer yet.
func releasedBetween(c *trial) {
	limit := c.twoPolls(exclusive)
	for n := 1; n <= waiterRequests; n++ {
		a, b := c.client("a"), c.client("b")
		a.mustHold("the lock is free", exclusive)
		answered, goOn := make(chan struct{}), make(chan struct{})
		b.wires.whenAnswered(n, func() { close(answered); <-goOn })
		w := b.waits(exclusive)
		select {
		case <-answered:
		case <-time.After(c.lease / 5): // it sends fewer
			b.wires.whenAnswered(0, nil)
		}
		begin := time.Now()
		a.mustRelease("a holds")
		close(goOn)
		w.mustBeGranted(begin, limit, fmt.Sprintf("a released when reply no. %d was on its way to b", n))
		b.mustRelease("b holds")
		a.close()
		b.close()
	}
}

func woken(c *trial) {
	a, b := c.client("a"), c.client("b")
	holder, waiter := a, b
	holder.mustHold("the lock is free", exclusive)
	for i := range handOvers() {
		w := waiter.waits(exclusive)
		c.sleep(c.lease/20 + time.Duration(i%20)*c.lease/1000)
		begin := time.Now()
		holder.mustRelease("it holds")
		w.mustBeGranted(begin, c.lease/50, fmt.Sprintf("hand-over no. %d: the holder has released", i+1))
		holder, waiter = waiter, holder
	}
	for i := range 3 {
		next := c.client(fmt.Sprint("stays", i))
		c.wakesAnother(holder, waiter, next)
		holder, waiter = next, holder
	}
}

// wakesAnother: a waiter that gave up must not consume a wake-up, whether the server wakes the first waiter or the last.
func (c *trial) wakesAnother(holder, gone, next *client) {
	giveUp := func() {
		gone.waitsInVain(exclusive, c.lease/20)
	}
	giveUp()
	stays := next.waits(exclusive)
	c.sleep(c.lease / 20)
	giveUp()
	begin := time.Now()
	holder.mustRelease("it holds")
	stays.mustBeGranted(begin, c.lease/50, "a waiter had given up before the release")
}

// handOvers is how many hand-overs to try in search of a lost wake-up: 10,000 with LOCKBENCH_SOAK=1.
func handOvers() int {
	if os.Getenv("LOCKBENCH_SOAK") == "1" {
		return 10_000
	}
	return 20
}

func subscriptionCut(c *trial) {
	a, b := c.client("a"), c.client("b")
	for _, before := range []time.Duration{0, c.lease / 200} { // just before the release, and early enough to be reconnecting at it
		a.mustHold("the lock is free", exclusive)
		w := b.waits(exclusive)
		c.sleep(c.lease / 5)
		b.wires.cutSubscriptions()
		c.sleep(before)
		begin := time.Now()
		a.mustRelease("a holds")
		w.mustBeGranted(begin, c.lease/20, fmt.Sprintf("b's subscription was cut, and a has released %v later", before)) // within two poll intervals
		b.mustRelease("b holds")
	}
}

func fifo(c *trial) {
	const waiters = 6
	holder := c.client("holder")
	holder.mustHold("the lock is free", exclusive)
	all, got := make([]*client, waiters), make([]*waiting, waiters)
	for i := range all {
		wrong := func(e *impls.Env) { e.Clock = off{time.Duration(i-waiters/2) * c.lease} } // the server decides whose turn it is
		all[i] = c.client(fmt.Sprint("w", i), wrong)
		got[i] = all[i].waits(exclusive)
		c.sleep(c.lease/100 + c.slack/4)
	}
	barger := c.client("barger")
	for i := range all {
		holder.mustRelease("it holds")
		if _, err := barger.try(exclusive); err == nil {
			c.errorf("with %d waiters a newcomer was granted the lock", waiters-i)
			_ = barger.release()
		}
		if got[i].result() != nil {
			c.fatalf("waiter no. %d is not granted the lock: %v", i+1, got[i].err)
		}
		for j := i + 1; j < waiters; j++ {
			if got[j].over() {
				c.fatalf("waiter no. %d is granted the lock before no. %d has released it", j+1, i+1)
			}
		}
		holder = all[i]
	}
	c.client("first").diesWaiting(exclusive, c.lease/100+c.slack/4) // it is first until its place expires
	holder.mustRelease("it holds")
	if _, err := barger.try(exclusive); err == nil {
		c.errorf("a newcomer was granted the lock ahead of the first waiter")
	}
}

func noDrift(c *trial) {
	holder := c.client("holder")
	holder.mustHold("the lock is free", exclusive)
	for i := range 4 {
		dead := c.client(fmt.Sprint("dead", i))
		dead.diesWaiting(exclusive, c.lease/100+c.slack/4)
	}
	died := time.Now()
	next := c.client("next").waits(exclusive)
	c.sleep(c.lease/100 + c.slack/4)
	holder.mustRelease("it holds")
	next.mustBeGranted(died, c.lease+c.lease/10, "the last of four waiters has died")
}

func clean(c *trial) {
	a, b := c.client("a"), c.client("b")
	before := c.use(a, b)
	if after := c.use(a, b); len(after) > 0 {
		c.mustBeCounters(before, after)
		c.note("keys left for each name that was ever locked: %d", len(after))
	}
	c.noSubscription()
}

// use lets one client hold and another wait, and returns the numbers left then.
func (c *trial) use(a, b *client) map[string]map[string]int64 {
	a.mustHold("the lock is free", exclusive)
	w := b.waits(exclusive)
	c.sleep(c.lease / 5)
	a.mustRelease("a holds")
	if w.result() != nil {
		c.fatalf("b is not granted the lock: %v", w.err)
	}
	b.mustRelease("b holds")
	return c.leftOver()
}

// leftOver returns the numbers in each key that is left after use. A key without any is a problem, unless it ends soon.
func (c *trial) leftOver() map[string]map[string]int64 {
	left := map[string]map[string]int64{}
	c.settle()
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			if numbers := c.numbers(n, k); len(numbers) > 0 {
				left[n.addr+" "+k] = numbers
			} else if d := c.pttl(n, k); d < 0 || d > keyLingers*c.lease {
				c.errorf("key %s is left", k)
			}
		}
	}
	return left
}

// keyLingers is for how many leases a key that expires by itself may stay, such as an unused wake-up.
const keyLingers = 2

// mustBeCounters requires a number in each key left to have grown with use: a count may outlive all holds.
func (c *trial) mustBeCounters(before, after map[string]map[string]int64) {
	for k, numbers := range after {
		was, grown := before[k], false
		for field, v := range numbers {
			grown = grown || was != nil && v > was[field]
		}
		if !grown {
			_, name, _ := strings.Cut(k, " ")
			c.errorf("key %s is left, and counts nothing: %v", name, numbers)
		}
	}
}

// noKeys looks for keys that are left, other than counters.
func (c *trial) noKeys() { _ = c.leftOver() }

func oneSlot(c *trial) {
	a, b := c.client("a"), c.client("b")
	slots := map[int]string{}
	look := func() {
		for _, n := range c.nodes {
			for _, k := range c.keysOf(n) {
				slots[impls.Slot(k)] = k
			}
		}
	}
	mode := exclusive
	if c.cfg.Traits.Shared {
		a.mustHold("the lock is free", shared)
		look()
		a.mustRelease("a reads")
	}
	a.mustHold("the lock is free", mode)
	w := b.waits(mode)
	c.sleep(c.lease / 5)
	look()
	_ = w.end()
	if len(slots) > 1 {
		c.errorf("keys in %d slots: %v", len(slots), slots)
	}
}
