package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// clusterNodes is how many masters a simulated cluster has, as a real one (package servers).
const clusterNodes = 3

// shard is a node's place in a cluster: as many masters as there are nodes share the slots in equal parts, in order, and none has a
// replica. Slots never move, so nobody is ever told ASK. A message that is published at one node reaches the subscribers of all.
type shard struct {
	nodes []*node // nodes[i] is at nodeAddr(i)
	index int
}

// join makes nodes a cluster.
func join(nodes []*node) {
	for i, n := range nodes {
		n.shard = &shard{nodes, i}
	}
}

// slots is the range of slots of a node of the cluster, both ends included.
func (s *shard) slots(index int) (first, last int) {
	return index * impls.Slots / len(s.nodes), (index+1)*impls.Slots/len(s.nodes) - 1
}

// owner is the node that a slot belongs to.
func (s *shard) owner(slot int) int {
	for i := range s.nodes {
		if _, last := s.slots(i); slot <= last {
			return i
		}
	}
	return len(s.nodes) - 1
}

// misplaced is the error with which a node of a cluster refuses a request: its keys lie in several slots, or in one of another
// node. It is "" for a request that the node may run.
func (n *node) misplaced(args []string) string {
	if n.shard == nil {
		return ""
	}
	if strings.EqualFold(args[0], "MULTI") {
		return "ERR transactions are not simulated on a cluster" // a refused command would have to end one
	}
	keys := resp.Keys(args)
	if len(keys) == 0 {
		return ""
	}
	slot := impls.Slot(keys[0])
	for _, key := range keys[1:] {
		if impls.Slot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
	}
	if owner := n.shard.owner(slot); owner != n.shard.index {
		return fmt.Sprintf("MOVED %d %s", slot, nodeAddr(owner))
	}
	return ""
}

// misplacedInScript is the error of a script that calls a command on keys which the script was not given, when the node must not run that.
// A script may use any slot of the node's own, as long as one command does not use two.
func (n *node) misplacedInScript(args []string) string {
	if n.misplaced(args) == "" {
		return ""
	}
	return "ERR Script attempted to access a non local key in a cluster node"
}

// cluster is CLUSTER SLOTS, with which Redis clients ask for the map of a cluster, and CLUSTER KEYSLOT.
func (n *node) cluster(s *session, args []string) {
	sub := ""
	if len(args) > 0 {
		sub = strings.ToUpper(args[0])
	}
	switch {
	case n.shard == nil:
		s.peer.WriteError("ERR This instance has cluster support disabled")
	case sub == "SLOTS" && len(args) == 1:
		s.peer.Block(n.shard.writeSlots)
	case sub == "KEYSLOT" && len(args) == 2:
		s.peer.WriteInt(impls.Slot(args[1]))
	default:
		s.peer.WriteError("ERR unknown subcommand or wrong number of arguments for 'cluster' command")
	}
}

// writeSlots writes a range of slots for each node: its ends, and the node's address, port, id and other names, of which there are none.
func (s *shard) writeSlots(w *server.Writer) {
	w.WriteLen(len(s.nodes))
	for i := range s.nodes {
		first, last := s.slots(i)
		host, port, _ := strings.Cut(nodeAddr(i), ":")
		number, _ := strconv.Atoi(port) // nodeAddr makes it of digits
		w.WriteLen(3)
		w.WriteInt(first)
		w.WriteInt(last)
		w.WriteLen(4)
		w.WriteBulk(host)
		w.WriteInt(number)
		w.WriteBulk(digest(nodeAddr(i)))
		w.WriteMapLen(0)
	}
}
