package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// link is the stream from a primary to a replica, which copies all data anew, even none, whenever
// one of the two has restarted. Of several links of a primary, a failover promotes the replica of
// the first.
type link struct {
	primary *node
	replica *node
	stream  []update // on its way, oldest first
	ready   int
	applied int    // how many of the primary's writes the replica has
	taken   int    // how many updates it has applied
	turn    uint64 // the last command whose effect the replica has
	apart   bool   // one of the two was killed, and the replica has not copied everything since: WAIT does not count it
	cut     bool   // a failover is under way: the replica receives nothing more
}

type update struct {
	dataset
	write int
	whole bool // applying it brings a reconnected replica into sync
}

func (w *world) push(l *link, u update) {
	if len(l.stream) == 0 {
		l.ready = w.step
	}
	l.stream = append(l.stream, u)
}

// replicates reports whether a replica can apply an update: it is up, and an update is on its way.
func (w *world) replicates(l *link) bool {
	return len(l.stream) > 0 && !l.cut && !l.replica.down && !l.replica.paused
}

func (w *world) replicateOne(l *link) {
	u := takeFirst(&l.stream)
	l.applied, l.turn, l.ready = u.write, u.turn, w.step
	l.taken++
	l.apart = l.apart && !u.whole
	l.replica.Load(u.data, w.clock())
	w.retryParked(l.primary)
}

// written queues a node's data for replication after a write. A replica that is down will copy
// everything later.
func (w *world) written(n *node) {
	n.writes++
	for _, l := range w.linksOf(n) {
		if n == l.primary && !l.replica.down {
			w.push(l, update{dataset: n.copy(w.clock()), write: n.writes})
		}
	}
}

// linksOf returns the links that a node is an end of.
func (w *world) linksOf(n *node) (out []*link) {
	for i := range w.links {
		if l := &w.links[i]; n == l.primary || n == l.replica {
			out = append(out, l)
		}
	}
	return out
}

// disconnected is called when a node was killed: what is on its way to a killed replica is lost,
// what a killed primary has sent arrives.
func (w *world) disconnected(n *node) {
	for _, l := range w.linksOf(n) {
		l.apart = true
		if n == l.replica {
			l.stream = nil
		}
	}
}

// reconnected is called when a node has started: once both ends of a link are up, the replica
// copies all data of the primary.
func (w *world) reconnected(n *node) {
	for _, l := range w.linksOf(n) {
		if !l.primary.down && !l.replica.down {
			w.push(l, update{dataset: l.primary.copy(w.clock()), write: l.primary.writes, whole: true})
		}
	}
}

// replicas returns how many replicas of a node have everything up to the given write.
func (w *world) replicas(n *node, upTo int) (have int) {
	for _, l := range w.linksOf(n) {
		if n == l.primary && !l.apart && l.applied >= upTo {
			have++
		}
	}
	return have
}

// Replicas returns how many replicas have all writes up to the connection's last command.
func (cn *conn) Replicas() int { return cn.world.replicas(cn.server, cn.seen) }

// wait implements WAIT numreplicas timeout for all writes up to the last command of the same
// connection, whichever client made them.
func (w *world) wait(q *request) ([]byte, bool) {
	if text := q.conn.server.Check(q.args); text != "" {
		return fakeredis.Failure(text), true
	}
	want, most, text := fakeredis.WaitsFor(q.args)
	if text != "" {
		return fakeredis.Failure(text), true
	}
	q.upTo = q.conn.seen
	answer := func(force bool) ([]byte, bool) {
		got := w.replicas(q.conn.server, q.upTo)
		return []byte(":" + strconv.Itoa(got) + "\r\n"), force || got >= want
	}
	return w.park(q, most, answer)
}

// heir returns the link to the replica that a failover of a primary promotes, by the number under
// which clients know it.
func (w *world) heir(node int) (*link, error) {
	for i := range w.links {
		if l := &w.links[i]; l.primary == w.serverAt(node) && !l.primary.down {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%w: node %d is down, or has no replica", faults.ErrNothing, node+1)
}

// CutReplication ends the replication to the first replica: as the new primary it lacks the writes
// between the cut and the failover.
func (w *world) CutReplication(_ context.Context, node int) error {
	l, err := w.heir(node)
	if err == nil {
		l.cut, l.apart = true, true
	}
	return err
}

// Failover kills a primary and promotes its first replica, with the writes that reached it. The
// others copy all its data.
func (w *world) Failover(ctx context.Context, node int) (had string, e history.Effect, err error) {
	l, err := w.heir(node)
	if err != nil {
		return "", e, err
	}
	old, promoted := l.primary, l.replica
	if promoted.down || promoted.paused { // the primary is killed all the same, as on real servers
		return "", e, errors.Join(fmt.Errorf("node %d, the replica, does not answer", promoted.index+1), w.KillServer(ctx, old.index))
	}
	w.endLeases(old)
	lock, has := old.copy(w.clock()), promoted.copy(w.clock())
	if len(lock.data) > 0 {
		had = history.ReplicaHad(lock.data.SameValues(has.data))
	}
	e = history.Effect{What: history.Promoted, Turn: l.turn, Known: true}
	e.Kept, e.Lost = lock.lostTo(has)
	old.down = true
	w.dropConns(old)
	w.succeed(old, promoted)
	promoted.turn, promoted.recorded, promoted.writes = old.turn, old.recorded, old.writes
	promoted.Ended() // its leases were not those of the node that clients knew
	promoted.ForgetScripts()
	w.disconnected(promoted)
	w.reconnected(promoted)
	w.suffered(promoted, history.Promoted, fakeredis.Difference(lock.data, has.data))
	return had, e, nil
}

// succeed gives a replica the number and the place of its primary.
func (w *world) succeed(old, promoted *node) {
	i, j := slices.Index(w.roles, old.index), slices.Index(w.roles, promoted.index)
	w.roles[i], w.roles[j] = w.roles[j], w.roles[i]
	fakeredis.Succeed(old.Node, promoted.Node)
	w.links = slices.DeleteFunc(w.links, func(l link) bool { return l.replica == promoted })
	for i := range w.links {
		if w.links[i].primary == old {
			w.links[i].primary = promoted
		}
	}
}
