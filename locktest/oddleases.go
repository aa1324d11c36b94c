package locktest

import (
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// oddLeases waits for the end of a lease if it is short, and otherwise reads the expiry from the
// server if a key shows it.
func oddLeases(c *trial) {
	odd := []time.Duration{c.ttl * 7 / 5, c.ttl * 8 / 5, c.ttl / 4, c.ttl/2 + time.Millisecond, c.ttl*9/10 - time.Millisecond, 90 * time.Minute, 40 * 24 * time.Hour}
	for _, d := range odd {
		cl, err := c.open("a", withLease(d))
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
	begin := time.Now()
	_, err := a.try(exclusive)
	var reply redis.Error
	switch {
	case err == nil:
	case errors.As(err, &reply) && !errors.Is(err, redis.Nil):
		c.errorf("a.%s with a lease of %v: the server refuses the request: %v", a.named("TryLock"), d, err)
		return
	default:
		c.note("a.%s with a lease of %v: %s", a.named("TryLock"), d, a.outcome(err))
		return
	}
	if c.cfg.kept(d) > 2*max(c.ttl, time.Second) {
		c.mustShowEnd(a, d)
		return
	}
	a.dies()
	c.mustEnd(a, d, begin, a.named("TryLock"))
	if c.slack > 0 || c.cfg.Traits.SelfRenewing {
		return
	}
	c.clear()
	if c.cfg.Waits && !c.cfg.Traits.FromAsking { // it is granted after a wait
		c.leave()
		c.at(w, withLease(d))
		c.play(holder.holds(), w.waits(), pass(1, 5), holder.releases())
		if waits := c.at(w).pending; waits.result() == nil { // or else a matter of other rules
			c.at(w).dies()
			c.mustEnd(c.at(w), d, waits.at, c.at(w).named("Lock")+", which had waited,")
		}
		c.clear()
	}
	if c.cfg.Traits.Extends { // it begins anew
		c.leave()
		a := c.at("a", withLease(d))
		a.mustHold(exclusive)
		time.Sleep(c.cfg.least(d) / 2)
		begin := time.Now()
		if _, err := a.extend(); err != nil {
			c.errorf("a holds with a lease of %v, of which half has passed, and a.Extend: %v", d, err)
			return
		}
		a.dies()
		c.mustEnd(a, d, begin, "Extend")
	}
}

func withLease(d time.Duration) func(*impls.Env) { return func(e *impls.Env) { e.Lease = d } }

// grain is the tolerated error of a lease that the server counts in milliseconds.
const grain = 2 * time.Millisecond

// mustEnd waits for the end of a dead client's hold, whose lease of d began with a call.
func (c *trial) mustEnd(a *client, d time.Duration, begin time.Time, call string) {
	least, kept := c.cfg.least(d), c.cfg.kept(d)
	b := c.client("b")
	defer b.dies()
	const unit = 8                                            // a Lock that waits gets a tenth of its lease per try
	seconds := (kept + time.Second - 1).Truncate(time.Second) // of a lock that counts in seconds
	took, err := c.getsIn(b, begin, kept+10*c.lease)
	switch {
	case err != nil:
		c.errorf(a.name+".%s succeeded with a lease of %v, and died; b.%s %v later: %s%s", call, d, b.named("TryLock"), took, b.outcome(err), c.stillThere())
	case took < least-least/20-grain-c.slack:
		c.errorf(a.name+".%s succeeded with a lease of %v, and the server keeps it for %v: b was granted the lock then", call, d, took)
	case c.late(took, seconds+kept/10+c.ttl/unit+grain):
		c.errorf(a.name+".%s succeeded with a lease of %v, and the server keeps it for %v: see ServerLease", call, d, took)
	}
}

// mustShowEnd looks for a key that expires with the lease. Other keys of the lock may last longer,
// or for ever; if all do, a value may hold the expiry.
func (c *trial) mustShowEnd(a *client, d time.Duration) {
	least, kept := c.cfg.least(d), c.cfg.kept(d)
	ends := c.ends()
	if c.slack == 0 { // a key with that expiry may not be what keeps others out
		c.mustEndThen(a, d)
		return
	}
	for _, left := range ends {
		if left >= least-least/20-grain-c.slack && left <= kept+kept/10+grain+c.slack {
			return
		}
	}
	switch {
	case len(ends) > 0 && slices.Max(ends) < least:
		c.errorf("a.%s succeeded with a lease of %v, and the server keeps it for %v", a.named("TryLock"), d, slices.Max(ends))
	default:
		c.note("a.%s with a lease of %v: no key of the lock ends with it, and the lease is too long to wait for", a.named("TryLock"), d)
	}
}

// mustEndThen lets virtual time pass until a dead client's hold has nearly ended, and until it must
// have ended.
func (c *trial) mustEndThen(a *client, d time.Duration) {
	least, kept := c.cfg.least(d), c.cfg.kept(d)
	begin := time.Now()
	a.dies()
	time.Sleep(least - least/20 - grain)
	b := c.client("b")
	c.story = nil
	c.say("a died with a lease of %v, of which 19 twentieths have passed", d)
	b.mustBeRefused(exclusive)
	b.dies()
	time.Sleep(kept + kept/10 + grain - time.Since(begin))
	next := c.client("next")
	if _, err := next.try(exclusive); err != nil {
		c.errorf("a.%s succeeded with a lease of %v, and died; next.%s %v later: %s%s", a.named("TryLock"), d, next.named("TryLock"), time.Since(begin), next.outcome(err), c.stillThere())
	}
	next.dies()
}
