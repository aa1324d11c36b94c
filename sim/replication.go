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
	"github.com/lockbench/lockbench/impls"
)

// replication is what the primary sends to its replicas.
type replication struct {
	writes   int    // of the primary so far
	links    []link // to the replicas; a failover promotes the first
	promoted bool   // it did so
}

// link is the stream to a replica, which copies all data anew, even none, whenever it or the primary has restarted.
type link struct {
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
	w.retryParked(w.nodes[w.primary])
}

// written queues a node's data for replication after a write. A replica that is down will copy everything later.
func (w *world) written(n *node) {
	if w.program.Topology != impls.Replicated || n.index != w.primary {
		return
	}
	w.replication.writes++
	for i := range w.replication.links {
		if l := &w.replication.links[i]; !l.replica.down {
			w.push(l, update{dataset: n.copy(w.clock()), write: w.replication.writes})
		}
	}
}

// linksOf returns the links of a node: all, of the primary.
func (w *world) linksOf(n *node) (out []*link) {
	for i := range w.replication.links {
		if l := &w.replication.links[i]; n.index == w.primary || n == l.replica {
			out = append(out, l)
		}
	}
	return out
}

// disconnected is called when a node was killed: what is on its way to a killed replica is lost, what a killed primary has sent arrives.
func (w *world) disconnected(n *node) {
	for _, l := range w.linksOf(n) {
		l.apart = true
		if n == l.replica {
			l.stream = nil
		}
	}
}

// reconnected is called when a node has started: once both ends of a link are up, the replica copies all data of the primary.
func (w *world) reconnected(n *node) {
	primary := w.nodes[w.primary]
	for _, l := range w.linksOf(n) {
		if !primary.down && !l.replica.down {
			w.push(l, update{dataset: primary.copy(w.clock()), write: w.replication.writes, whole: true})
		}
	}
}

// replicas returns how many replicas of a node have everything up to the given write.
func (w *world) replicas(n *node, upTo int) (have int) {
	if n.index != w.primary {
		return 0
	}
	for i := range w.replication.links {
		if l := &w.replication.links[i]; !l.apart && l.applied >= upTo {
			have++
		}
	}
	return have
}

// Replicas returns how many replicas have all writes up to the connection's last command.
func (cn *conn) Replicas() int { return cn.world.replicas(cn.server, cn.seen) }

// wait implements WAIT numreplicas timeout for all writes up to the last command of the same connection, whichever client made them.
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

// CutReplication ends the replication to the first replica: as the new primary it lacks the writes between the cut and the failover.
func (w *world) CutReplication(context.Context) error {
	l := &w.replication.links[0]
	l.cut, l.apart = true, true
	return nil
}

// Failover kills the primary and promotes the first replica, with the writes that reached it. The others copy all its data.
func (w *world) Failover(ctx context.Context) (had string, e history.Effect, err error) {
	if w.replication.promoted {
		return "", e, fmt.Errorf("%w: it has failed over already", faults.ErrNothing)
	}
	old, err := w.up(w.primary)
	if err != nil {
		return "", e, err
	}
	l := &w.replication.links[0]
	promoted := l.replica
	if promoted.down || promoted.paused { // the primary is killed all the same, as on real servers
		return "", e, errors.Join(fmt.Errorf("node %d, the replica, does not answer", promoted.index+1), w.KillServer(ctx, w.primary))
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
	w.primary = promoted.index
	w.replication.promoted, w.replication.links = true, slices.Delete(w.replication.links, 0, 1)
	promoted.turn, promoted.recorded = old.turn, old.recorded
	promoted.Ended() // its leases were not those of the node that clients knew
	promoted.ForgetScripts()
	w.disconnected(promoted)
	w.reconnected(promoted)
	w.suffered(promoted, history.Promoted, fakeredis.Difference(lock.data, has.data))
	return had, e, nil
}
