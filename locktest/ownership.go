package locktest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// ownership are the rules of mutual exclusion, and of who can end a hold.
func ownership() []rule {
	return []rule{
		{"excludes", "A holder keeps others out until it releases, whoever starts or closes, and then the next client gets in.", nil, play(repeat(2,
			a.holds(), b.isRefused(), happens("another client was started and closed", func(c *trial) { c.client("late").close() }),
			b.isRefused(), a.releases(), b.holds(), a.isRefused(), b.releases()))},
		{"release-needs-a-hold", "A client without a hold can neither release nor extend: both return ErrNotHeld, and the holder keeps the lock.", nil, play(
			a.holds(), b.cannotRelease(impls.ErrNotHeld), b.cannotExtend(impls.ErrNotHeld, impls.ErrUnsupported), other.isRefused(), a.releases())},
		{"release-once", "A second release returns ErrNotHeld and changes nothing.", nil, play(
			a.holds(), a.releases(), b.holds(), a.cannotRelease(impls.ErrNotHeld), other.isRefused())},
		{"one-wins", "Of many clients that try at once, only one is granted the lock, or as many as there are permits.", nil, oneWins},
		{"no-lost-update", "Clients that read, compute and write back under the lock lose no update.", nil, noLostUpdate},
		{"asked-again", "A holder that asks again and is refused keeps its hold: others stay out, and its release frees the lock.", nil, askedAgain},
		{"try-returns", "A TryLock does not wait for the holder.", triesItself, tryReturns},
		{"late-release", "A release after the end of the lease leaves the next client's hold alone, whatever the modes of both.", leased, lateRelease},
		{"late-release-fails", "A release after the end of the lease returns ErrNotHeld or ErrLost.", leased, play(
			a.holds(), a.lapses(), a.cannotRelease(impls.ErrLost, impls.ErrNotHeld))},
		{"late-extend", "An extend after the end of the lease returns ErrNotHeld or ErrLost, even if nobody holds the lock any more, and does not take the lock.", extends, lateExtend},
		{"late-entry", "A client whose lease has ended is refused while another holds.", leased, play(
			a.holds(), a.lapses(), b.holds(), a.isRefused(), b.releases())},
		{"between-requests", "A client whose reply comes a lease late, in a release, an extend or a renewal, leaves the next client's hold alone; while a reply to an acquire is on its way another client may have a whole hold, and then the grant is the only one, with a higher fence; a grant that comes after its lease has no higher fence than the next.", nil, betweenRequests},
		{"names-apart", "Locks with different names are independent, also when a hash function or an encoding maps the names to one, and though one client holds many and releases some.", nil, namesApart},
		{"reserved-words", "A client or a lock may be called by a word that the lock uses in its scripts and requests.", nil, reservedWords},
		{"reuse", "One lock object serves many holds, and so does a new object for each hold; a new object of another client releases nothing.", nil, reuse},
		{"release-frees", "A release that returned nil has freed the lock, whatever scripts, requests and replies were lost; after any other result the lock is free within a lease.", nil, releaseFrees},
		{"loss-returns", "A release of a hold that is gone returns by the end of its context, and leaves the next client's hold alone.", nil, lossReturns},
		{"context-ended", "A call under a context that has ended does its work or returns an error; the end of an acquire's context, once it has returned, does not prevent the release.", nil, contextEnded},
		{"closes", "A Close ends what the lock does in the background and leaves other holds alone; its own hold ends with the lease at the latest.", all(leased, closing), play(
			a.holds(), a.lapses(), b.holds(), a.closes(), other.isRefused(), b.releases(),
			next.holds(), fromNow(), next.closes(), settled(), other.getsIn(), fromNow(), next.isSilent())},
		{"busy-is-busy", "An acquire while another client holds returns ErrBusy and no other error; without a server, or when the server answers with an error, it does not return ErrBusy.", nil, busyIsBusy},
		{"unique-tokens", "Every grant has a token of its own.", tokened, uniqueTokens},
	}
}

func oneWins(c *trial) {
	const racers, rounds = 100, 2
	everybody := make([]*client, racers)
	for i := range everybody {
		everybody[i] = c.client(fmt.Sprint("c", i))
	}
	for range rounds {
		winners := c.race(everybody)
		if len(winners) > 1 {
			c.errorf("%d of %d clients that asked at once hold the lock, want 1", len(winners), racers)
		}
		if len(winners) == 0 { // the votes of several nodes or keys may be split, and must be given back
			time.Sleep(c.lease / 5)
			if !c.log.answeredAll() { // one that a busy server did not give back in time ends with its lease
				time.Sleep(c.lease)
			}
			c.say("none of %d clients that asked at once was granted the lock, and one asks again", racers)
			everybody[0].mustHold(exclusive)
			winners = everybody[:1]
		}
		for _, w := range winners {
			_ = w.release()
		}
		c.clear() // keys of a wrong winner must not affect the next round
	}
}

// race lets all clients try at once and returns those that were granted.
func (c *trial) race(everybody []*client) (winners []*client) {
	start := make(chan struct{})
	won := make([]bool, len(everybody))
	var racing sync.WaitGroup
	for i, cl := range everybody {
		racing.Go(func() {
			<-start
			c.catchPanics(func() {
				_, err := cl.try(exclusive)
				won[i] = err == nil
			})
		})
	}
	close(start)
	racing.Wait()
	for i, cl := range everybody {
		if won[i] {
			winners = append(winners, cl)
		}
	}
	return winners
}

// contend lets five clients hold the lock in turn, each several times, and calls hold while one
// does.
func (c *trial) contend(rounds int, hold func(g impls.Grant, cl *client)) {
	var working sync.WaitGroup
	for i := range 5 {
		cl := c.client(fmt.Sprint("c", i))
		working.Go(func() {
			c.catchPanics(func() {
				for range rounds {
					w := cl.waits(exclusive)
					if w.result() != nil {
						c.errorf("%s.%s: %v", cl.name, cl.named("Lock"), w.err)
						return
					}
					hold(w.grant, cl)
					if err := cl.release(); err != nil {
						c.errorf("%s.%s: %v", cl.name, cl.named("Unlock"), err)
					}
				}
			})
		})
	}
	working.Wait()
}

func noLostUpdate(c *trial) {
	var value, writes int // guarded only by the lock under test, apart from keeping the race detector quiet
	var guard sync.Mutex
	c.contend(4, func(impls.Grant, *client) {
		guard.Lock()
		seen := value
		guard.Unlock()
		time.Sleep(c.lease / 50)
		guard.Lock()
		value, writes = seen+1, writes+1
		guard.Unlock()
	})
	if lost := writes - value; lost > 0 {
		c.errorf("%d of %d updates were lost", lost, writes)
	}
}

// askedAgain: a refusal must not replace the token of the hold, nor stop its watchdog.
func askedAgain(c *trial) {
	c.play(a.holds(), settled()) // a token may be the time of day
	begin := time.Now()
	_, err := c.at(a).try(exclusive)
	if took := time.Since(begin); c.late(took, c.lease/4) {
		c.cannotJudge("a.%s took %v: little of the lease is left", c.at(a).named("TryLock"), took)
	}
	if err == nil { // it may enter again
		c.play(a.lets(), a.lets(), b.holds())
		return
	}
	c.say("a asked again and was refused")
	c.play(where(watched, pass(2, 1)), b.isRefused(), a.releases(), settled(), b.holds())
}

// tryReturns: what a TryLock may take is a part of the lease, for requests to several nodes.
func tryReturns(c *trial) {
	c.play(a.holds())
	begin := time.Now()
	_, err := c.at(b).try(exclusive)
	if took := time.Since(begin); c.late(took, c.lease/4) {
		c.errorf("a held the lock, every reply came at once, and b.TryLock: %s after %v", c.at(b).outcome(err), took)
	}
}

// lateRelease releases under each fault. The name of the next holder, and so its token, begins with
// that of the first.
func lateRelease(c *trial) {
	most := mostLost
	if c.slack > 0 {
		most = 1 // each takes a lease
	}
	modes := [][2]history.Mode{{exclusive, exclusive}, {exclusive, shared}, {shared, exclusive}}
	if !c.cfg.Traits.Shared {
		modes = modes[:1]
	}
	for _, m := range modes {
		for _, tr := range c.troubles(most) {
			c.play(anew(), a.takes(m[0]), a.triesToLeave(m[0]), a.takes(m[0]), a.lapses(), ab.takes(m[1]),
				a.meets(tr, a.triesToLeave(m[0])), settled())
			if c.cfg.Traits.SelfRenewing || time.Since(c.mark) < c.least*9/10-c.slack { // a release may try for long
				c.play(other.isRefused(), ab.leaves(m[1]))
			}
		}
	}
}

// endLease lets a hold end.
func (c *trial) endLease() {
	if c.cfg.Traits.SelfRenewing {
		c.deleteKeys()
		return
	}
	time.Sleep(c.lease + 2*time.Millisecond + c.slack)
}

// lateExtend: a refused extend must neither take the lock nor move the end of another client's
// lease.
func lateExtend(c *trial) {
	cleared := happens("the keys were deleted", func(c *trial) { c.clear() })
	for _, ends := range []step{a.lapses(), cleared} {
		c.play(anew(), a.holds(), ends, b.holds(), b.isCut(), pass(1, 2), a.triesToExtend(), other.getsIn(), other.releases())
	}
	for _, free := range []bool{false, true} {
		c.play(anew(), a.holds(), a.lapses(), b.holds())
		if free {
			c.play(b.releases())
		}
		c.play(a.cannotExtend(impls.ErrLost, impls.ErrNotHeld))
		if until, ok := c.at(a).until(); ok && until.After(time.Now()) && !c.cfg.Traits.SelfRenewing {
			c.errorf("a's lease has ended, a.Extend was refused, and a.ValidUntil is %v from now", time.Until(until))
		}
		if free {
			c.play(other.holds())
			continue
		}
		c.play(b.releases())
	}
}

func busyIsBusy(c *trial) {
	c.play(a.holds())
	b := c.at(b)
	_, err := b.try(exclusive)
	for _, not := range []error{impls.ErrUnavailable, impls.ErrUnknownOutcome, impls.ErrCancelled, impls.ErrLost, impls.ErrNotHeld} {
		if c.cfg.Variant && errors.Is(err, not) {
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
	if c.nodes[0].fake == nil {
		return // a server of its own would be needed, which has no room left
	}
	next := c.client("next")
	c.play(a.releases())
	c.answer(serverError)
	defer c.answer("")
	if _, err := next.try(exclusive); err == nil || next.saysBusy(err) {
		c.errorf("next.%s: %s, and the server answers every request with %q, want an error", next.named("TryLock"), next.outcome(err), serverError)
	}
}

// uniqueTokens: in package impls every grant has its own token; another lock's token may name the
// owner.
func uniqueTokens(c *trial) {
	seen := map[string]*client{}
	for range 5 {
		for _, cl := range []*client{c.at(a), c.at(b)} {
			g := cl.mustHold(exclusive)
			if before := seen[g.Token]; g.Token == "" || before != nil && (cl.c.cfg.Variant || before != cl) {
				c.errorf("%s is granted token %q, which is empty or was granted before", cl.name, g.Token)
			}
			seen[g.Token] = cl
			if l, ok := cl.lock.(subject.Tokener); ok && l.Token() != g.Token {
				c.errorf("%s is granted token %q, and its token is %q afterwards", cl.name, g.Token, l.Token())
			}
			cl.mustRelease()
		}
	}
}

// reuse makes many holds with one object, and then with new ones.
func reuse(c *trial) {
	for _, fresh := range []bool{false, true} {
		objects := "all of one object"
		if fresh {
			objects = "each of a new object"
		}
		for i := range 4 {
			for _, p := range [][2]who{{a, b}, {b, a}} {
				c.say("hold %d of 4, %s", i+1, objects)
				if fresh {
					c.must(c.at(p[0]).fresh())
				}
				c.play(p[0].holds(), p[1].isRefused(), other.isRefused())
				if fresh { // a new object of another client releases nothing
					c.must(c.at(p[1]).fresh())
					c.play(p[1].lets(), other.isRefused())
				}
				c.play(p[0].releases())
			}
		}
	}
}

func (c *trial) must(err error) {
	if err != nil {
		c.fatalf("the lock cannot be made: %v", err)
	}
}
