package fakeredis

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// shard is a node's place in a cluster: all nodes are masters, share the slots in equal parts, in
// order, and have no replicas. Slots never move, so no node replies ASK. A message published at one
// node reaches the subscribers of all.
type shard struct {
	nodes []*Node
	addrs []string
	index int
}

// Join makes nodes a cluster, until they are reset; addrs are their addresses.
func Join(nodes []*Node, addrs []string) {
	for i, n := range nodes {
		n.shard = &shard{nodes, addrs, i}
	}
}

// Succeed gives a node the place of a master in its cluster, if that is in one: its slots and its
// address.
func Succeed(old, heir *Node) {
	if heir.shard = old.shard; old.shard != nil {
		old.shard.nodes[old.shard.index] = heir
	}
	old.shard = nil
}

// slots returns the range of slots of a node, both ends included.
func (s *shard) slots(index int) (first, last int) {
	return index * resp.Slots / len(s.nodes), (index+1)*resp.Slots/len(s.nodes) - 1
}

// misplaced returns the error of a node of a cluster for keys in several slots, or in a slot of
// another node; "" if it may run the request.
func (n *Node) misplaced(args []string) string {
	if n.shard == nil {
		return ""
	}
	keys := resp.Keys(args)
	if len(keys) == 0 {
		return ""
	}
	slot := resp.Slot(keys[0])
	for _, key := range keys[1:] {
		if resp.Slot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
	}
	for owner, addr := range n.shard.addrs {
		if first, last := n.shard.slots(owner); first <= slot && slot <= last && owner != n.shard.index {
			return fmt.Sprintf("MOVED %d %s", slot, addr)
		}
	}
	return ""
}

// cluster implements CLUSTER SLOTS, with which Redis clients read the map of a cluster, and CLUSTER
// KEYSLOT.
func (n *Node) cluster(s *Session, args []string) {
	switch {
	case n.shard == nil:
		s.peer.WriteError("ERR This instance has cluster support disabled")
	case strings.EqualFold(args[0], "SLOTS"):
		// a range of slots for each node: both ends, and the node's address, port, id and an empty list
		// of other names
		s.peer.Block(func(w *server.Writer) {
			w.WriteLen(len(n.shard.nodes))
			for i, addr := range n.shard.addrs {
				first, last := n.shard.slots(i)
				host, port, _ := strings.Cut(addr, ":")
				number, _ := strconv.Atoi(port) // the port of an address
				w.WriteLen(3)
				w.WriteInt(first)
				w.WriteInt(last)
				w.WriteLen(4)
				w.WriteBulk(host)
				w.WriteInt(number)
				w.WriteBulk(history.ScriptDigest(addr)) // 40 digits, as ids have
				w.WriteMapLen(0)
			}
		})
	default:
		s.peer.WriteInt(resp.Slot(args[1]))
	}
}
