package locktest

import "slices"

// rules returns every rule, in the order in which they are checked.
func rules() []rule {
	return slices.Concat(ownership(), leases(), waiters(), capabilities(), modes(), watchdogs())
}

// need says why a rule does not apply to a lock; "" if it does.
type need func(cfg config) string

// has is the need for something; otherwise says why a rule does not apply to a lock without it.
func has(it func(config) bool, otherwise string) need {
	return func(cfg config) string {
		if it(cfg) {
			return ""
		}
		return otherwise
	}
}

// all joins needs; the first one that is not met says why.
func all(needs ...need) need {
	return func(cfg config) string {
		for _, n := range needs {
			if why := n(cfg); why != "" {
				return why
			}
		}
		return ""
	}
}

// What rules need of a lock.
var (
	leased       = has(func(c config) bool { return !c.Traits.NoLease }, "its holds never end by themselves")
	extends      = has(func(c config) bool { return c.Traits.Extends }, "it has no Extend")
	validity     = has(func(c config) bool { return c.Traits.Validity }, "it has no ValidUntil")
	tellsLoss    = has(func(c config) bool { return c.Traits.NotifiesLoss || c.Traits.Validity }, "it has neither Lost nor ValidUntil")
	tokened      = has(func(c config) bool { return c.Traits.UniqueToken }, "it has no tokens")
	fenced       = has(func(c config) bool { return c.Traits.Fenced }, "it has no fences")
	permitted    = has(func(c config) bool { return c.Traits.Permits }, "it has one permit")
	reentrant    = has(func(c config) bool { return c.Traits.Reentrant }, "it does not promise that its holder may lock again")
	repeatable   = has(func(c config) bool { return c.Traits.Repeatable }, "its acquire may not be sent twice")
	sharing      = has(func(c config) bool { return c.Traits.Shared }, "it has no readers")
	writersFirst = has(func(c config) bool { return c.Traits.WritersFirst }, "it does not promise that writers come first")
	watched      = has(func(c config) bool { return c.Traits.SelfRenewing }, "it does not renew by itself")
	unwatched    = has(func(c config) bool { return !c.Traits.SelfRenewing }, "it renews by itself")
	wakes        = has(func(c config) bool { return c.Traits.Wakeups }, "waiters poll")
	fifoOnly     = has(func(c config) bool { return c.Traits.FIFO }, "it promises no order")
	closing      = has(func(c config) bool { return c.Closes }, "it has no Close")
	severalNodes = has(func(c config) bool { return c.nodes >= 3 }, "it is on one node")
	replicated   = has(func(c config) bool { return c.replicas > 0 }, "no replica has to confirm it")
	onCluster    = has(func(c config) bool { return c.Variant || c.cluster }, "it does not promise to run on a cluster")

	// Only a TryLock, or a Lock that waits, can break some rules; for a lock with only TryLock the
	// kit does the waiting.
	triesItself = has(func(c config) bool { return c.Tries }, "it has no TryLock")
	waitsItself = has(func(c config) bool { return c.Waits }, "it has no Lock that waits")

	// Some rules need more of a lock's environment than Config has, and for others package impls
	// has no method.
	ofContract    = has(func(c config) bool { return c.Variant }, "its clock is the process's, which cannot be set for one client")
	notOfContract = has(func(c config) bool { return !c.Variant }, "package impls has no word for it")
)
