package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func quorum(c *trial) {
	a, b := c.client("a"), c.client("b")
	minority := (len(c.nodes) - 1) / 2
	a.mustHold("all nodes are there", exclusive)
	a.mustRelease("a holds")
	c.settle() // release has returned once a majority replied
	a.down(c.nodes[:minority], func() {
		a.mustHold("a minority of the nodes is out of reach", exclusive)
		b.mustBeRefused("a holds a majority", exclusive)
		a.mustRelease("a holds")
	})
	a.down(c.nodes[:minority+1], func() {
		if _, err := a.try(exclusive); err == nil || errors.Is(err, impls.ErrBusy) {
			c.errorf("a majority of the nodes is unreachable, and a's acquire returns %s", say(err))
		}
	})
	c.settle()
	b.mustHold("a's attempt has failed", exclusive)
}

// ailments are the faults that a node may have, from one client's point of view.
var ailments = []string{"taken", "down", "hanging", "losing replies"}

// quorumMasks runs in virtual time only: many of its attempts last as long as a node's timeout.
func quorumMasks(c *trial) {
	if c.slack > 0 {
		c.cannotJudge("each mask of nodes lasts as long as a node may take, which is tried in virtual time alone")
	}
	for _, ailment := range ailments {
		for mask := range 1 << len(c.nodes) {
			c.tryMask(ailment, mask)
		}
	}
}

// tryMask acquires while the nodes of the mask have an ailment.
func (c *trial) tryMask(ailment string, mask int) {
	what := fmt.Sprintf("nodes %0*b are %s", len(c.nodes), mask, ailment)
	a, b := c.client("a"), c.client("b")
	defer b.close()
	defer a.close()
	var ill, well []*node
	for i, n := range c.nodes {
		if mask>>i&1 == 1 {
			ill = append(ill, n)
		} else {
			well = append(well, n)
		}
	}
	a.mustHold("all nodes are there", exclusive) // scripts are loaded from here on
	a.mustRelease("a holds")
	c.settle()
	idle := c.counters()
	if ailment == "taken" {
		c.take(well, idle)
	} else {
		impairNodes(a, ailment, ill)
	}
	_, err := a.try(exclusive)
	if granted, want := err == nil, len(well) > len(c.nodes)/2; granted != want {
		c.errorf("%s, and a's acquire returns %s, want a grant: %v", what, say(err), want)
	}
	if err == nil {
		b.mustBeRefused(what+", and a holds", exclusive)
		_ = a.release()
	}
	a.wires.unreachable(nil)
	a.wires.impair(nil, nil)
	c.sleep(c.lease / 5) // for work in the background
	for _, n := range c.nodes {
		if left := c.holding(n, idle); len(left) > 0 && (ailment != "taken" || !slices.Contains(ill, n)) {
			c.errorf("%s: %q is left on %s", what, left, n.addr)
		}
	}
	c.clear()
}

// counters returns the numeric keys that exist while no client holds.
func (c *trial) counters() (names []string) {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			if _, ok := c.number(n, k); ok {
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

func impairNodes(cl *client, ailment string, ill []*node) {
	switch ailment {
	case "down":
		cl.wires.unreachable(ill)
	case "hanging":
		cl.wires.impair(ill, nil)
	case "losing replies":
		cl.wires.impair(nil, ill)
	}
}

// take leaves the hold of a dead client on all nodes but those in well, whatever keys it consists of.
func (c *trial) take(well []*node, idle []string) {
	dead := c.client("dead")
	dead.mustHold("all nodes are there", exclusive)
	c.settle() // a majority granted it; the other nodes may follow
	dead.dies()
	for _, n := range well {
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
	a, b := c.client("a", patient(confirmation)), c.client("b", patient(c.lease/4))
	a.mustHold("the replicas follow", exclusive)
	a.mustRelease("a holds")
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
	c.noKeys()
}
