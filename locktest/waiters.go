package locktest

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// waiters are the rules of what waiters can rely on.
func waiters() []rule {
	return []rule{
		{"waits", "A waiting acquire is granted after the release.", waitsItself, play(
			a.holds(), b.waits(), pass(1, 5), b.stillWaits(), a.releases(), b.isGranted(), b.releases())},
		{"deadline", "A waiting acquire returns an error when its context ends, and leaves no key and no subscription.", waitsItself, deadline},
		{"dead-waiter", "A waiter that died, or lost a reply, delays the others by a lease at most.", leased, deadWaiter},
		{"waits-long", "A waiter that others keep out for many leases is granted the lock within a lease of the last release.", all(waitsItself, leased), waitsLong},
		{"two-waits", "A client that waits for locks can release another at once; when one of its two waits ends, it is granted the other lock as soon as any waiter.", waitsItself, twoWaits},
		{"keys-deleted", "When the keys are deleted, a waiter is granted the lock within a lease.", leased, keysDeleted},
		{"released-between", "A release between two requests of a waiter is noticed as soon as any other.", nil, releasedBetween},
		{"woken", "A release wakes a waiter at once, every time.", wakes, woken},
		{"subscription-cut", "A waiter whose subscription is cut is granted the lock soon after the release.", wakes, play(
			a.holds(), b.waits(), pass(1, 5), b.loseSubscription(), a.releases(), b.isGrantedIn(1, 20), b.releases(),
			// it is reconnecting then
			a.holds(), b.waits(), pass(1, 5), b.loseSubscription(), pass(1, 200), a.releases(), b.isGrantedIn(1, 20), b.releases())},
		{"fifo", "Waiters are granted the lock in the order in which they came.", fifoOnly, fifo},
		{"no-drift", "Dead waiters delay the others by one lease in total, however many they are.", fifoOnly, play(
			holder.holds(), dead.diesWaiting(1, 100), gone.diesWaiting(1, 100), late.diesWaiting(1, 100), long.diesWaiting(1, 100), fromNow(),
			next.waits(), apart(), holder.does("releases", (*client).mustRelease), next.isGrantedIn(11, 10))},
		{"bounded-requests", "An acquire, its release and a waiter send a bounded number of requests.", nil, boundedRequests},
		{"no-stale-signals", "Wake-ups that no waiter consumed do not make a later waiter spin.", waitsItself, noSpinAfterSignals},
		{"nothing-running", "When everything is released and closed, no goroutine is left.", nil, leavesNothingRunning},
		{"clean", "When all clients are done, also those that were refused or gave up, no subscription and no key but a counter is left.", nil, clean},
		{"one-slot", "All keys of one lock are in one hash slot.", onCluster, oneSlot},
	}
}

// loseSubscription cuts the client's connections with a subscription.
func (p who) loseSubscription() step {
	return p.does("lost its subscription", func(cl *client) { cl.wires.cut(subscribedWire) })
}

// waitsLong: others keep a waiter out for many leases, so that pauses that grow without end are
// longer than a lease at the last release.
func waitsLong(c *trial) {
	leases := 9 // the waiter's context has ten
	if c.slack > 0 {
		leases = 4
	}
	c.play(a.holds(), w.waits())
	w, start := c.at(w), time.Now()
	free := c.handOn(c.at(a), c.at(b), w.pending, leases)
	err := w.pending.result()
	switch took := w.pending.at.Sub(free); {
	case w.pending.gaveUp:
		c.note("w was kept out, and w.%s gave up by itself after %v: %s", w.named("Lock"), w.pending.at.Sub(start), w.outcome(err))
	case err != nil:
		c.errorf("w was kept out for %v, and is not granted the lock %v after the last release: %s%s", free.Sub(start), took, w.outcome(err), c.log.lastOf("w"))
	case c.late(took, c.lease+c.lease/20):
		c.errorf("w was kept out for %v, and was granted the lock %v after the last release, want a lease of %v at the most", free.Sub(start), took, c.lease)
	}
}

// handOn lets two clients hold the lock in turn, each at once after the other, and returns when it
// was released last. It ends early if the waiter gets in between.
func (c *trial) handOn(holder, next *client, waits *waiting, leases int) (free time.Time) {
	for left := 2*leases - 1; ; left-- {
		time.Sleep(c.lease/2 - c.lease/300) // not a multiple of a poll interval
		free = time.Now()
		holder.mustRelease()
		if left == 0 || waits.over() {
			return free
		}
		if _, err := next.try(exclusive); err != nil {
			return free // it is the waiter's turn
		}
		holder, next = next, holder
	}
}

// deadline ends a wait early, and when a lock that backs off sleeps long; each time between two
// tries of a lock that polls.
func deadline(c *trial) {
	for _, part := range []time.Duration{5, 2} {
		c.leave()
		c.play(a.holds(), b.waits(), pass(1, part), pass(1, 150))
		b, w := c.at(b), c.at(b).pending
		begin := time.Now()
		w.cancel()
		gaveUp := begin.Add(c.lease / takeBackShare) // until then it may take back its request
		if err := w.result(); err == nil || c.cfg.Variant && !errors.Is(err, impls.ErrCancelled) {
			c.errorf("b.%s: %s, though its context had ended while a held the lock", b.named("Lock"), b.outcome(err))
		}
		if took := w.at.Sub(begin); c.late(took, c.lease/10) {
			c.errorf("b's acquire ended %v after its context", took)
		}
		if c.cfg.Variant && errors.Is(w.err, impls.ErrUnknownOutcome) && c.slack == 0 {
			c.errorf("every request of b was answered, and yet: %v", w.err)
		}
		c.say("b has given up")
		c.play(a.releases(), next.holds(), next.releases())
		time.Sleep(time.Until(gaveUp) + c.slack)
		c.play(next.holds(), next.releases())
		c.noSubscription()
		_ = c.leftOver()
		c.mustBeSilent(b, gaveUp)
	}
}

// pollInterval measures the interval at which a waiter polls the lock. It is 0 for a lock that
// wakes its waiters: it promises to, or the waiter subscribes or blocks.
func (c *trial) pollInterval(mode history.Mode) time.Duration {
	if c.cfg.Traits.Wakeups {
		return 0
	}
	c.play(holder.holds())
	b := c.at(late)
	begin := time.Now()
	w := b.waits(mode)
	time.Sleep(c.lease * 9 / 10)
	pause, woken := c.log.pause(b.name, begin)
	woken = woken || b.wires.count(subscribedWire) > 0
	w.cancel()
	if w.result() == nil {
		_ = b.releaseMode(mode)
	}
	c.play(holder.lets(), anew())
	if woken {
		return 0
	}
	return pause
}

// twoPolls is how long a waiter may take to see that the lock is free.
func (c *trial) twoPolls(mode history.Mode) time.Duration {
	return max(c.lease/20, 2*c.pollInterval(mode))
}

// noSubscription checks that no channel has subscribers. The server may notice a closed connection
// a little later.
func (c *trial) noSubscription() {
	c.settle()
	for _, n := range c.nodes {
		for _, channel := range n.admin.PubSubChannels(context.Background(), "*").Val() {
			name := strings.NewReplacer("{", "", "}", "").Replace(channel)
			if n.fake != nil || strings.Contains(name, c.key) { // or else it is another rule's
				c.errorf("channel %s still has a subscriber", channel)
			}
		}
	}
}

func deadWaiter(c *trial) {
	look := c.pollInterval(exclusive)
	c.play(a.holds(), dead.waits(), pass(1, 5), fromNow(), dead.isCut())
	died := c.due()
	_ = c.at(dead).pending.end()
	c.play(next.waits(), pass(1, 10), a.releases())
	c.at(next).pending.mustBeGranted(died, c.lease+max(c.lease/10, look))

	// Whether a waiter that lost a reply goes on or fails, others are delayed by a lease at most.
	c.play(anew(), a.holds(), w.loses(1), w.waits(), pass(1, 5), w.hears())
	unheard, lost := c.at(w), time.Now()
	wait := unheard.pending
	c.play(next.waits(), pass(1, 10), a.releases())
	if !wait.over() {
		time.Sleep(max(c.lease/10, look))
	}
	if wait.over() && wait.err == nil {
		c.say("w was granted the lock all the same")
		c.play(w.releases())
		lost = time.Now()
	} else {
		go func() {
			if wait.result() == nil {
				_ = unheard.release()
			}
		}()
	}
	c.at(next).pending.mustBeGranted(lost, c.lease+max(c.lease/5, 2*look))
	_ = wait.end()
}

// keysDeleted deletes the keys between two tries of a lock that polls.
func keysDeleted(c *trial) {
	look := c.pollInterval(exclusive)
	c.play(a.holds(), b.waits(), pass(1, 5), pass(1, 150), fromNow(), deleted(), where(extends, a.cannotExtend(impls.ErrLost)))
	c.at(b).pending.mustBeGranted(c.due(), max(c.lease, 2*look))
}

// waiterRequests is after how many of a waiter's first requests a release is tried: a try, a
// subscription and a second try, and what precedes them on their connections.
const waiterRequests = 8

// releasedBetween releases when the server has answered a request of the waiter and the waiter does
// not know the answer yet.
func releasedBetween(c *trial) {
	limit := c.twoPolls(exclusive)
	for n := 1; n <= waiterRequests; n++ {
		c.leave()
		c.play(a.holds())
		b := c.at(b)
		answered, goOn := make(chan struct{}), make(chan struct{})
		b.wires.whenAnswered(n, func() { close(answered); <-goOn })
		w := b.waits(exclusive)
		select {
		case <-answered:
		case <-time.After(c.lease / 5): // it sends fewer
			b.wires.whenAnswered(0, nil)
		}
		c.say("reply no. %d was on its way to b", n)
		c.play(a.releases())
		close(goOn)
		w.mustBeGranted(c.due(), limit)
		b.mustRelease()
	}
}

func woken(c *trial) {
	c.play(a.holds())
	at, to := a, b
	handOvers := 20 // in search of a lost wake-up
	if os.Getenv("LOCKBENCH_SOAK") == "1" {
		handOvers = 10_000
	}
	for i := range handOvers {
		c.say("hand-over no. %d", i+1)
		c.play(to.waits(), pass(1, 20))
		time.Sleep(time.Duration(i%20) * c.lease / 1000)
		c.play(at.releases(), to.isGrantedIn(1, 50))
		at, to = to, at
	}
	// a waiter that gave up must not consume a wake-up, whether the server wakes the first waiter
	// or the last
	for i := range 3 {
		stays := who("stays" + string('0'+rune(i)))
		c.play(to.givesUp(exclusive, 1, 20), stays.waits(), pass(1, 20), to.givesUp(exclusive, 1, 20), at.releases(), stays.isGrantedIn(1, 50))
		at, to = stays, at
	}
}

func fifo(c *trial) {
	const waiters = 6
	last := holder
	c.play(last.holds())
	line := make([]who, waiters)
	for i := range line {
		line[i] = who("w" + string('0'+rune(i)))
		// the server decides whose turn it is
		c.at(line[i], func(e *impls.Env) { e.Clock = off{by: time.Duration(i-waiters/2) * c.lease} })
		c.play(line[i].waits(), apart())
	}
	for i, first := range line {
		c.say("%d wait", waiters-i)
		c.play(last.releases(), other.isRefused(), first.isGranted())
		for _, later := range line[i+1:] {
			if c.at(later).pending.over() {
				c.fatalf("%s, which came later, is granted the lock before %s has released it", later, first)
			}
		}
		last = first
	}
	c.play(gone.diesWaiting(1, 100), last.releases(), other.isRefused()) // it is first until its place expires
}

// clean compares what two rounds of use have left: a count may outlive all holds, and then grows.
func clean(c *trial) {
	use := func() map[string]map[string]int64 {
		c.play(a.holds(), other.asks(), w.givesUp(exclusive, 1, 5), b.waits(), pass(1, 5), a.releases(), b.isGranted(), b.releases())
		return c.leftOver()
	}
	before, after := use(), use()
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
	if len(after) > 0 {
		c.note("keys left for each name that was ever locked: %d", len(after))
	}
	c.noSubscription()
}

// leftOver returns the numbers in each key that is left after use. A key without any is a problem,
// unless it ends soon.
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

// keyLingers is for how many leases a key that expires by itself may stay, such as an unused
// wake-up.
const keyLingers = 2

func oneSlot(c *trial) {
	slots := map[int]string{}
	look := happens("", func(c *trial) {
		for _, n := range c.nodes {
			for _, k := range c.keysOf(n) {
				slots[resp.Slot(k)] = k
			}
		}
	})
	c.play(where(sharing, a.reads(), look, a.releases()), a.holds(), b.waits(), pass(1, 5), look)
	_ = c.at(b).pending.end()
	if len(slots) > 1 {
		c.errorf("keys in %d slots: %v", len(slots), slots)
	}
}
