package sim

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
)

func (t *topology) storeIndex() int { return len(t.nodes) - 1 }

func (t *topology) lockNodes() []*node { return t.nodes[:t.storeIndex()] }

func (t *topology) up(node int) (*node, error) {
	n := t.nodes[node]
	if n.down {
		return n, fmt.Errorf("node %d is down", node+1)
	}
	return n, nil
}

// serverAt returns the node to which an address leads.
func (t *topology) serverAt(address int) *node { return t.nodes[t.role(address)] }

// role returns the node that a number means where connections follow the roles of replicated nodes:
// those with addresses are the primaries.
func (t *topology) role(node int) int {
	if node < len(t.roles) {
		return t.roles[node]
	}
	return node
}

// giveRoles gives the lock's nodes their roles: primaries, with addresses, and their replicas.
func (t *topology) giveRoles(nodes []*node, primaries int) {
	for i, n := range nodes {
		t.roles = append(t.roles, i)
		if i < primaries {
			t.addrs = append(t.addrs, nodeAddr(i))
		} else {
			t.links = append(t.links, link{primary: nodes[i%primaries], replica: n})
		}
	}
}

// join makes the lock's masters a cluster.
func (t *topology) join() {
	var nodes []*fakeredis.Node
	for _, n := range t.lockNodes()[:len(t.addrs)] {
		nodes = append(nodes, n.Node)
	}
	fakeredis.Join(nodes, t.addrs)
}

// replicates reports whether a replica can apply an update: it is up, and an update is on its way.
func (t *topology) replicates(l *link) bool {
	return len(l.stream) > 0 && !l.cut && !l.replica.down && !l.replica.paused
}

// linksOf returns the links that a node is an end of.
func (t *topology) linksOf(n *node) (out []*link) {
	for i := range t.links {
		if l := &t.links[i]; n == l.primary || n == l.replica {
			out = append(out, l)
		}
	}
	return out
}

// replicas returns how many replicas of a node have everything up to the given write.
func (t *topology) replicas(n *node, upTo int) (have int) {
	for _, l := range t.linksOf(n) {
		if n == l.primary && !l.apart && l.applied >= upTo {
			have++
		}
	}
	return have
}

// heir returns the link to the replica that a failover of a primary promotes, by the number under
// which clients know it.
func (t *topology) heir(node int) (*link, error) {
	for i := range t.links {
		if l := &t.links[i]; l.primary == t.serverAt(node) && !l.primary.down {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%w: node %d is down, or has no replica", faults.ErrNothing, node+1)
}

// numberOf returns the number by which clients know a node of the lock; false for the guarded store
// and for a replica.
func (t *topology) numberOf(n *node) (number int, addressed bool) {
	number = slices.Index(t.roles, n.index)
	return number, number >= 0 && number < len(t.addrs)
}
