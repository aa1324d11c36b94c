package locktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// taken is an ailment that needs no fault: a dead client holds the node.
const taken ailment = "taken"

// quorum tries every set of nodes, and in real time, where many an attempt lasts as long as a node's
// timeout, the largest minority and the smallest majority alone.
func quorum(c *trial) {
	if c.slack > 0 {
		minority := (len(c.nodes) - 1) / 2
		c.tryMask(down, 1<<minority-1)
		c.tryMask(down, 1<<(minority+1)-1)
		return
	}
	for _, how := range []ailment{taken, down, hanging, losing} {
		for mask := range 1 << len(c.nodes) {
			c.tryMask(how, mask)
		}
	}
}

// tryMask acquires while the nodes of the mask have an ailment.
func (c *trial) tryMask(how ailment, mask int) {
	var ill, up []*node
	for i, n := range c.nodes {
		if mask>>i&1 == 1 {
			ill = append(ill, n)
		} else {
			up = append(up, n)
		}
	}
	c.play(anew(), a.knows())
	c.say("nodes %0*b are %s", len(c.nodes), mask, how)
	idle, wires := c.counters(), c.at(a).wires
	if how == taken {
		c.take(up, idle)
	} else {
		wires.afflict(how, ill)
	}
	_, err := c.at(a).try(exclusive)
	if granted, want := err == nil, len(up) > len(c.nodes)/2; granted != want {
		c.errorf("%s, and a's acquire returns %s, want a grant: %v", c.sofar(), say(err), want)
	}
	switch {
	case err == nil && how == down:
		c.say("a holds")
		c.play(b.isRefused(), a.releases())
	case err == nil:
		c.say("a holds")
		c.play(b.isRefused(), a.lets())
	case how == down && errors.Is(err, impls.ErrBusy):
		c.errorf("%s, and a's acquire returns %s, though nobody holds", c.sofar(), say(err))
	}
	wires.afflict(well, nil)
	time.Sleep(c.lease/5 + c.slack) // for work in the background
	for _, n := range c.nodes {
		if left := c.holding(n, idle); len(left) > 0 && (how != taken || !slices.Contains(ill, n)) {
			c.errorf("%s: %q is left on %s", c.sofar(), left, n.addr)
		}
	}
}

// counters returns the numeric keys that exist while no client holds.
func (c *trial) counters() (names []string) {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			if len(c.numbers(n, k)) > 0 {
				names = append(names, k)
			}
		}
	}
	return names
}

// holding returns the keys on a node, without counters.
func (c *trial) holding(n *node, idle []string) []string {
	return slices.DeleteFunc(c.keysOf(n), func(k string) bool { return slices.Contains(idle, k) })
}

// take leaves the hold of a dead client on all nodes but those that are up, whatever keys it
// consists of.
func (c *trial) take(up []*node, idle []string) {
	c.at(dead).mustHold(exclusive)
	c.settle() // a majority granted it; the other nodes may follow
	c.at(dead).dies()
	for _, n := range up {
		for _, k := range c.holding(n, idle) {
			n.admin.Del(context.Background(), k)
		}
	}
}

// confirmation is how long replicas may take: on an idle machine they report once a second.
const confirmation = 20 * time.Second

func replicaMissing(c *trial) {
	patient := func(limit time.Duration) func(*impls.Env) {
		return func(e *impls.Env) { e.Lease, e.NodeTimeout = time.Minute, limit }
	}
	b := c.client("b", patient(c.lease/4))
	c.at(a, patient(confirmation))
	c.play(a.knows())
	for _, n := range c.nodes {
		for _, r := range n.replicas {
			if err := r.admin.ReplicaOf(context.Background(), "NO", "ONE").Err(); err != nil {
				c.fatalf("the replica at %s cannot be disconnected: %v", r.addr, err)
			}
		}
	}
	if _, err := b.try(exclusive); err == nil || errors.Is(err, impls.ErrBusy) || errors.Is(err, impls.ErrUnknownOutcome) {
		c.errorf("no replica confirms, and b's acquire returns %s", say(err))
	}
	_ = c.leftOver()
}
