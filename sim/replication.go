package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

func (w *world) push(l *link, u update) {
	if len(l.stream) == 0 {
		l.ready = w.step
	}
	l.stream = append(l.stream, u)
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
