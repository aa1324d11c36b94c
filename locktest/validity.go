package locktest

import (
	"errors"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// grantedAfterWait lets a client wait for the lock and returns its grant.
func (c *trial) grantedAfterWait(cl *client) (impls.Grant, error) {
	c.play(holder.holds())
	w := cl.waits(exclusive)
	time.Sleep(c.lease / 3)
	if w.over() {
		return impls.Grant{}, errNotWaited
	}
	c.play(holder.releases())
	err := w.result()
	return w.grant, err
}

// errNotWaited means that the lock was granted to a waiter while another client held it, or the
// waiter gave up.
var errNotWaited = errors.New("it did not wait")

// validUntil: when a reply arrives that took a time, the lease has been going on for that time at
// least.
func validUntil(c *trial) {
	type stated struct { // a call after which a lock states until when it holds
		name string
		come step                                 // before replies are slow
		call func(a *client) (impls.Grant, error) // with slow replies
	}
	all := []stated{{"TryLock", settled(), func(cl *client) (impls.Grant, error) { return cl.try(exclusive) }}}
	if c.cfg.Waits && !c.cfg.Traits.FromAsking {
		all = append(all, stated{"Lock, which had waited,", settled(), c.grantedAfterWait})
	}
	if c.cfg.Traits.Extends { // a validity may add up
		all = append(all, stated{"Extend", repeat(1, a.holds(), a.triesToExtend(), a.triesToExtend()), (*client).extend})
	}
	judged := false
	for _, s := range all {
		// a lock may give up a request that takes a part of the lease
		for slow := c.lease / 4; slow > max(c.slack, time.Millisecond); slow /= 3 {
			c.play(anew(), a.knows(), s.come)
			cl := c.at(a)
			cl.wires.slow(slow)
			g, err := s.call(cl)
			returned := time.Now()
			cl.wires.slow(0)
			if err != nil {
				continue
			}
			// a lock may report a loss, and state no instant
			if end := returned.Add(c.lease - slow + c.slack); g.ValidUntil.After(end) && !g.ValidUntil.Equal(impls.UntilLost) {
				c.errorf("replies took %v, a.%s returned, and a.ValidUntil is %v after that, of a lease of %v", slow, s.name, g.ValidUntil.Sub(returned), c.lease)
			}
			judged = true
			break
		}
	}
	c.untilFailed()
	if !judged {
		c.cannotJudge("the lock gives up every request whose reply takes a time that could be told from none")
	}
}

// untilFailed: an extend that the server has not executed moves nothing.
func (c *trial) untilFailed() {
	if !c.cfg.Traits.Extends || c.cfg.Traits.SelfRenewing {
		return
	}
	c.play(anew(), a.holds())
	cl, begin, granted := c.at(a), c.mark, time.Now()
	time.Sleep(c.lease / 2)
	cl.wires.afflict(down, c.nodes)
	_, err := cl.extend()
	cl.wires.afflict(well, nil)
	until, ok := cl.until()
	if err == nil || !ok {
		return
	}
	if until.After(granted.Add(c.lease + c.slack)) {
		c.errorf("a was granted the lock at 0, its extend at %v failed (%v), and a.ValidUntil is %v of a lease of %v", c.lease/2, err, until.Sub(begin), c.lease)
	}
}
