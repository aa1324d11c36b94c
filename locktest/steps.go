package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// who names a client of a rule. Its methods are steps.
type who string

// The clients of the rules.
const (
	a, ab, b, r, w who = "a", "ab", "b", "r", "w" // the name of ab begins with that of a

	dead, gone, holder, late, long, next, other, short who = "dead", "gone", "holder", "late", "long", "next", "other", "short"
)

// step is something that a client does, or that happens, and what must come of it.
type step struct {
	said string // for messages about later steps
	do   func(c *trial)
}

// play returns a rule that takes steps one after the other.
func play(steps ...step) func(*trial) { return func(c *trial) { c.play(steps...) } }

// play takes steps one after the other. A message about a step says what came before.
func (c *trial) play(steps ...step) {
	for _, s := range steps {
		s.do(c)
		c.say("%s", s.said)
	}
}

// at returns a client by its name, and makes it when it is first named; changes alter its
// environment.
func (c *trial) at(name who, changes ...func(*impls.Env)) *client {
	if c.cast[name] == nil {
		c.cast[name] = c.client(string(name), changes...)
	}
	return c.cast[name]
}

// toldSteps is how many steps a message tells.
const toldSteps = 6

// due returns the instant from which the limit of what comes next counts. In real time it is the
// end of what came before: on a busy machine its requests leave late.
func (c *trial) due() time.Time {
	if c.slack > 0 && c.last.After(c.mark) {
		return c.last
	}
	return c.mark
}

// say adds to what a message tells, once it is done.
func (c *trial) say(format string, args ...any) {
	c.last = time.Now()
	if said := fmt.Sprintf(format, args...); said != "" {
		c.story = append(c.story, said)
	}
	if n := len(c.story); n > toldSteps {
		c.story = append([]string{"…"}, c.story[n-toldSteps+1:]...)
	}
}

// sofar is what has happened before a step.
func (c *trial) sofar() string { return cmp.Or(strings.Join(c.story, "; "), "at first") }

// does is a step of a client. verb completes its name: "holds".
func (p who) does(verb string, do func(cl *client)) step {
	said := ""
	if verb != "" {
		said = string(p) + " " + verb
	}
	return step{said, func(c *trial) { do(c.at(p)) }}
}

// happens is a step of nobody.
func happens(said string, do func(c *trial)) step { return step{said, do} }

// takes asks for the lock, which must be granted, and sets the mark.
func (p who) takes(mode history.Mode) step {
	verb := "holds"
	if mode == shared {
		verb = "reads"
	}
	return p.does(verb, func(cl *client) { cl.c.mark = time.Now(); cl.mustHold(mode) })
}

func (p who) holds() step { return p.takes(exclusive) }
func (p who) reads() step { return p.takes(shared) }

func (p who) isRefused() step {
	return p.does("is refused", func(cl *client) { cl.mustBeRefused(exclusive) })
}

func (p who) mayNotRead() step {
	return p.does("may not read", func(cl *client) { cl.mustBeRefused(shared) })
}

// findsFree reports if the lock is not free, and goes on.
func (p who) findsFree() step {
	return p.does("is granted the lock", func(cl *client) {
		if _, err := cl.try(exclusive); err != nil {
			cl.c.errorf("%s, and %s.%s: %s%s", cl.c.sofar(), cl.name, cl.named("TryLock"), cl.outcome(err), cl.c.stillThere())
		}
	})
}

// asks tries, with any result.
func (p who) asks() step {
	return p.does("asks", func(cl *client) { _, _ = cl.try(exclusive) })
}

// releases ends a hold, which must succeed, and sets the mark.
func (p who) releases() step {
	return p.does("releases", func(cl *client) { cl.c.mark = time.Now(); cl.mustRelease() })
}

// lets releases, with any result.
func (p who) lets() step {
	return p.does("calls a release", func(cl *client) { _ = cl.release() })
}

// leaves ends a hold of one mode, which must succeed.
func (p who) leaves(mode history.Mode) step {
	return p.does("leaves", func(cl *client) {
		if err := cl.releaseMode(mode); err != nil {
			cl.c.errorf("%s.%s failed (%s): %v%s", cl.name, cl.namedFor(mode, "Unlock"), cl.c.sofar(), err, cl.c.keyEvents(nil))
		}
	})
}

// triesToLeave releases one mode, with any result.
func (p who) triesToLeave(mode history.Mode) step {
	return p.does("calls a release", func(cl *client) { _ = cl.releaseMode(mode) })
}

// cannotRelease releases without a hold. A lock of package impls must answer with one of the
// errors; another lock may return any error, and nil is noted.
func (p who) cannotRelease(want ...error) step {
	return p.does("calls a release", func(cl *client) {
		switch err := cl.release(); {
		case isOne(err, want):
		case cl.c.cfg.Variant:
			cl.c.errorf("%s.%s answered %s (%s), want %v", cl.name, cl.named("Unlock"), say(err), cl.c.sofar(), want[0])
		case err == nil:
			cl.c.note("%s.%s returned nil (%s): it does not report that the hold is gone", cl.name, cl.named("Unlock"), cl.c.sofar())
		}
	})
}

// cannotExtend is cannotRelease for Extend, where nil is an error too.
func (p who) cannotExtend(want ...error) step {
	return p.does("calls an extend", func(cl *client) {
		if _, err := cl.extend(); !isOne(err, want) && (err == nil || cl.c.cfg.Variant) {
			cl.c.errorf("%s.Extend: %s (%s), want an error%s", cl.name, cl.outcome(err), cl.c.sofar(), cl.c.keyEvents(cl))
		}
	})
}

func isOne(err error, of []error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}

// extends must succeed, and sets the mark.
func (p who) extends() step {
	return p.does("extends", func(cl *client) {
		cl.c.mark = time.Now()
		if _, err := cl.extend(); err != nil {
			cl.c.fatalf("%s.Extend failed (%s): %v", cl.name, cl.c.sofar(), err)
		}
	})
}

// triesToExtend extends, with any result.
func (p who) triesToExtend() step {
	return p.does("calls an extend", func(cl *client) { _, _ = cl.extend() })
}

// knows lets a client load what it loads once: scripts and connections.
func (p who) knows() step {
	return p.does("", func(cl *client) { cl.mustHold(exclusive); cl.mustRelease(); cl.c.settle() })
}

// dies crashes the client: its connections are cut and its background stops.
func (p who) dies() step { return p.does("dies", (*client).dies) }

// closes closes the client's locks, and leaves its connections open.
func (p who) closes() step { return p.does("is closed", (*client).shut) }

// isCut cuts the client's connections, for ever.
func (p who) isCut() step { return p.does("dies", func(cl *client) { cl.wires.cutAll() }) }

// lapses lets the client's hold end as if the client had been paused. A watchdog, which would have
// been paused too, is simulated by deleting the keys.
func (p who) lapses() step {
	return p.does("is paused for a lease", func(cl *client) { cl.c.endLease() })
}

// getsIn must be granted the lock within a lease of the mark.
func (p who) getsIn() step {
	return p.does("gets in", func(cl *client) { cl.c.mustGetIn(cl) })
}

// waits begins to wait for the lock.
func (p who) waits() step { return p.waitsFor(exclusive) }

func (p who) waitsFor(mode history.Mode) step {
	return p.does("waits", func(cl *client) { cl.pending = cl.waits(mode) })
}

// stillWaits fails if the wait is over.
func (p who) stillWaits() step {
	return p.does("", func(cl *client) {
		if cl.pending.over() {
			cl.c.fatalf("%s does not wait (%s): %s", cl.name, cl.c.sofar(), say(cl.pending.err))
		}
	})
}

// isGranted must be granted the lock for which it waits; it does so for ten leases.
func (p who) isGranted() step { return p.isGrantedIn(100, 1) }

// isGrantedIn must be granted it within n/d of a lease of the mark.
func (p who) isGrantedIn(n, d time.Duration) step {
	return p.does("is granted the lock", func(cl *client) { cl.pending.mustBeGranted(cl.c.due(), cl.c.lease*n/d) })
}

// givesUp waits in vain for n/d of a lease.
func (p who) givesUp(mode history.Mode, n, d time.Duration) step {
	return p.does("waits, and gives up", func(cl *client) {
		w := cl.waits(mode)
		time.Sleep(cl.c.lease * n / d)
		_ = w.end()
	})
}

// diesWaiting waits for n/d of a lease and dies, and so cannot take its request back.
func (p who) diesWaiting(n, d time.Duration) step {
	return p.does("waits, and dies", func(cl *client) {
		w := cl.waits(exclusive)
		time.Sleep(cl.c.lease*n/d + cl.c.slack/4)
		cl.wires.cutAll()
		_ = w.end()
	})
}

// loses loses the replies to the next n requests, until hears.
func (p who) loses(n int) step {
	return p.does("", func(cl *client) {
		cl.wires.loseReplies(n)
		cl.c.say("%s", wereLost(n, "reply of "+cl.name, "replies of "+cl.name))
	})
}

func (p who) hears() step { return p.does("", func(cl *client) { cl.wires.loseReplies(0) }) }

// isSilent fails if the client sends anything in the two leases after the mark.
func (p who) isSilent() step {
	return p.does("", func(cl *client) { cl.c.mustBeSilent(cl, cl.c.mark) })
}

// fromNow sets the mark: the instant from which the next limit counts.
func fromNow() step { return happens("", func(c *trial) { c.mark = time.Now() }) }

// pass lets n/d of a lease pass.
func pass(n, d time.Duration) step {
	said := fmt.Sprintf("%d/%d of a lease pass", n, d)
	switch {
	case d == 1:
		said = fmt.Sprintf("%d leases pass", n)
	case n == 1:
		said += "es"
	}
	return happens(said, func(c *trial) { time.Sleep(c.lease * n / d) })
}

// until lets time pass until n/d of a lease have passed since the mark, or nearly, where requests
// take time.
func until(n, d time.Duration) step {
	return happens(fmt.Sprintf("%d/%d of a lease have passed", n, d), func(c *trial) { time.Sleep(time.Until(c.mark.Add(c.least*n/d)) - c.slack) })
}

// apart lets a little time pass, so that clients come one after the other.
func apart() step {
	return happens("", func(c *trial) { time.Sleep(c.lease/100 + c.slack/4) })
}

// leaseOver lets a lease pass, and what a server may be late.
func leaseOver() step {
	return happens("a lease has passed", func(c *trial) { time.Sleep(c.lease + c.lease/20 + 2*c.slack) })
}

// settled lets requests and replies under way arrive.
func settled() step { return happens("", (*trial).settle) }

// deleted deletes the keys of a hold, as an operator or an eviction does.
func deleted() step { return happens("the keys were deleted", (*trial).deleteKeys) }

// anew ends all clients and deletes what they have left.
func anew() step {
	return happens("", func(c *trial) { c.leave(); c.clear() })
}

// leave ends all clients, and leaves their keys.
func (c *trial) leave() {
	for _, cl := range c.all() {
		cl.close()
		cl.mu.Lock()
		cl.dead = true
		cl.mu.Unlock()
	}
	clear(c.cast)
	c.story = nil
}

// repeat takes steps n times.
func repeat(n int, steps ...step) step {
	return happens("", func(c *trial) {
		for range n {
			c.play(steps...)
		}
	})
}

// where takes steps with locks that the need fits.
func where(n need, steps ...step) step {
	return happens("", func(c *trial) {
		if n(c.cfg) == "" {
			c.play(steps...)
		}
	})
}
