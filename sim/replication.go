package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// replication is the stream from the primary of a pair to its replica, which copies all data anew, even none, whenever one of the two has restarted.
type replication struct {
	stream  []update // on its way, oldest first
	ready   int
	writes  int    // of the primary so far
	applied int    // how many of these the replica has
	taken   int    // how many updates it has applied
	turn    uint64 // the last command whose effect the replica has
	apart   bool   // one of the two was killed, and the replica has not copied everything since: WAIT does not count it
	stopped bool
	cut     bool // a failover is under way: the replica receives nothing more
}

type update struct {
	dataset
	write int
	whole bool // applying it brings a reconnected replica into sync
}

func (w *world) push(u update) {
	r := &w.replication
	if len(r.stream) == 0 {
		r.ready = w.step
	}
	r.stream = append(r.stream, u)
}

// replicates reports whether the replica can apply an update: it is up, and an update is on its way.
func (w *world) replicates() bool {
	r := &w.replication
	if len(r.stream) == 0 || r.stopped || r.cut {
		return false
	}
	replica := w.nodes[1-w.primary]
	return !replica.down && !replica.paused
}

func (w *world) replicateOne() {
	r := &w.replication
	u := takeFirst(&r.stream)
	r.applied, r.turn, r.ready = u.write, u.turn, w.step
	r.taken++
	r.apart = r.apart && !u.whole
	w.nodes[1-w.primary].Load(u.data, w.clock())
	w.retryParked(w.nodes[w.primary])
}

// written queues a node's data for replication after a write. A replica that is down will copy everything later.
func (w *world) written(n *node) {
	if w.program.Topology != impls.Replicated || n.index != w.primary {
		return
	}
	w.replication.writes++
	if !w.nodes[1-w.primary].down {
		w.push(update{dataset: n.copy(w.clock()), write: w.replication.writes})
	}
}

// disconnected is called when a node of a pair was killed: what is on its way to a killed replica is lost, what a killed primary has sent arrives.
func (w *world) disconnected(n *node) {
	w.replication.apart = true
	if n.index != w.primary {
		w.replication.stream = nil
	}
}

// reconnected is called when a node of a pair has started: once both are up, the replica copies all data of the primary.
func (w *world) reconnected() {
	primary, replica := w.nodes[w.primary], w.nodes[1-w.primary]
	if !primary.down && !replica.down && !w.replication.stopped {
		w.push(update{dataset: primary.copy(w.clock()), write: w.replication.writes, whole: true})
	}
}

// replicas returns how many replicas of a node have everything up to the given write.
func (w *world) replicas(n *node, upTo int) int {
	if w.program.Topology != impls.Replicated || n.index != w.primary || w.replication.stopped {
		return 0
	}
	return boolInt(!w.replication.apart && w.replication.applied >= upTo)
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

// CutReplication ends the replication of the pair: the new primary lacks the writes between the cut and the failover.
func (w *world) CutReplication(context.Context) error {
	w.replication.cut, w.replication.apart = true, true
	return nil
}

// Failover kills the primary and promotes the replica, with the writes that reached it.
func (w *world) Failover(ctx context.Context) (had string, e history.Effect, err error) {
	if w.replication.stopped {
		return "", e, fmt.Errorf("%w: the pair has failed over", faults.ErrNothing)
	}
	old, err := w.up(w.primary)
	if err != nil {
		return "", e, err
	}
	if replica := w.nodes[1-w.primary]; replica.down || replica.paused { // the primary is killed all the same, as on real servers
		return "", e, errors.Join(fmt.Errorf("node %d, the replica, does not answer", replica.index+1), w.KillServer(ctx, w.primary))
	}
	promoted := w.nodes[1-w.primary]
	w.endLeases(old)
	lock, has := old.copy(w.clock()), promoted.copy(w.clock())
	if len(lock.data) > 0 {
		had = history.ReplicaHad(lock.data.SameValues(has.data))
	}
	e = history.Effect{What: history.Promoted, Turn: w.replication.turn, Known: true}
	e.Kept, e.Lost = lock.lostTo(has)
	old.down = true
	w.dropConns(old)
	w.primary = 1 - w.primary
	w.replication.stopped, w.replication.stream = true, nil
	promoted.turn, promoted.recorded = old.turn, old.recorded
	promoted.Ended() // its leases were not those of the node that clients knew
	promoted.ForgetScripts()
	w.suffered(promoted, history.Promoted, fakeredis.Difference(lock.data, has.data))
	return had, e, nil
}
