package harness

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
)

// With sentinels, clients have the sentinels' addresses, which tell them that of the primary. In
// the network of a run, a client has a link to each node, to each sentinel, and one to a balancer
// in front of the primary, for children that know no sentinels.

// links returns the number of links of a client, the store's excluded.
func (s *deployment) links() int {
	if watched := s.lock.Sentinels(); watched != nil {
		return s.lock.Len() + len(watched.Addrs()) + 1
	}
	return s.lock.Len()
}

// isBalancer reports whether a number is that of the link to the balancer.
func (s *deployment) isBalancer(link int) bool {
	return s.lock.Sentinels() != nil && link == s.links()-1
}

// recorded returns the node under which commands to an address are recorded.
func (s *deployment) recorded(addr string) int {
	if node := s.node(addr); node < s.lock.Len() {
		return node
	}
	return inject.Aside
}

// toldOf is a connection by the address that a client was told of: clients compare it with that of
// a new primary.
type toldOf struct {
	net.Conn
	addr net.Addr
}

func (c toldOf) RemoteAddr() net.Addr { return c.addr }

// promotions adds the promotions by the sentinels to the fault that was in force, or had been last.
func (d *serverDriver) promotions(windows []history.Window) {
	watched := d.servers.lock.Sentinels()
	if watched == nil {
		return
	}
	for _, p := range watched.Promotions() {
		at, last := d.timeline()-int64(time.Since(p.At)), -1
		for i, w := range windows {
			if w.Client == "" && w.Node >= 0 && w.Start <= at && (last < 0 || w.Start >= windows[last].Start) {
				last = i
			}
		}
		if last >= 0 {
			windows[last].Effects = append(windows[last].Effects, history.Effect{Node: p.Node, At: at, What: history.Promoted})
			slices.SortStableFunc(windows[last].Effects, func(a, b history.Effect) int { return cmp.Compare(a.At, b.At) })
		}
	}
}

// failovers says of each node that replaced another when it took over, and when a client was first
// granted the lock by it: until then, clients that could not reach the old primary had none.
func failovers(rec *record) (notes []string) {
	granted := map[uint64]int64{}
	for _, op := range rec.Ops {
		if op.Op == history.Acquire && op.Outcome == history.OK {
			granted[op.ID] = op.Return
		}
	}
	for _, w := range rec.Windows {
		for _, e := range w.Effects {
			if e.What != history.Promoted || e.Node == w.Node {
				continue
			}
			after := func(at int64) string { return time.Duration(at - w.Start).Round(10 * time.Millisecond).String() }
			first := int64(math.MaxInt64)
			for _, c := range rec.Commands {
				if at := granted[c.Op]; c.Node == e.Node && at > e.At {
					first = min(first, at)
				}
			}
			then := "never granted the lock"
			if first < math.MaxInt64 {
				then = "first granted the lock after " + after(first)
			}
			notes = append(notes, fmt.Sprintf("%s took over %s after the fault of %s, and %s", history.Node(e.Node), after(e.At), history.Node(w.Node), then))
		}
	}
	return notes
}
