package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// replication is what flows from the primary of a pair to the replica. Whenever one of the two has started again the replica takes over all that the
// primary has, be that nothing.
type replication struct {
	stream  []update // on its way, oldest first
	ready   int
	writes  int    // of the primary so far
	applied int    // how many of these the replica has
	taken   int    // how many updates it has taken over
	turn    uint64 // the last command of which the replica has the effect
	apart   bool   // one of the two was killed, and the replica has not taken over everything since: it does not count
	stopped bool
	cut     bool // a failover is under way: nothing reaches the replica any more
}

// update is the state after a write.
type update struct {
	dataset
	write int
	whole bool // with it a replica that has connected anew is in sync
}

func (w *world) push(u update) {
	r := &w.replication
	if len(r.stream) == 0 {
		r.ready = w.step
	}
	r.stream = append(r.stream, u)
}

// replicates reports whether the replica can take something over: it is there, and something is on its way.
func (w *world) replicates() bool {
	r := &w.replication
	if len(r.stream) == 0 || r.stopped || r.cut {
		return false
	}
	replica := w.nodes[1-w.primary]
	return !replica.down && !replica.paused
}

// replicateOne lets the replica take over the oldest update.
func (w *world) replicateOne() {
	r := &w.replication
	u := takeFirst(&r.stream)
	r.applied, r.turn, r.ready = u.write, u.turn, w.step
	r.taken++
	r.apart = r.apart && !u.whole
	w.nodes[1-w.primary].load(u.dataset, time.Now())
	w.retryParked(w.nodes[w.primary])
}

// written keeps what replication will need of a node's data after a write. A replica that is down will ask for everything.
func (w *world) written(n *node) {
	if w.program.Topology != impls.Replicated || n.index != w.primary {
		return
	}
	w.replication.writes++
	if !w.nodes[1-w.primary].down {
		w.push(update{dataset: n.copy(time.Now()), write: w.replication.writes})
	}
}

// disconnected is for when a node of a pair was killed: what is on its way to a replica is lost with it; what a primary had sent still arrives.
func (w *world) disconnected(n *node) {
	w.replication.apart = true
	if n.index != w.primary {
		w.replication.stream = nil
	}
}

// reconnected is for when a node of a pair has started: once both are there, the replica gets all that the primary has.
func (w *world) reconnected() {
	primary, replica := w.nodes[w.primary], w.nodes[1-w.primary]
	if !primary.down && !replica.down && !w.replication.stopped {
		w.push(update{dataset: primary.copy(time.Now()), write: w.replication.writes, whole: true})
	}
}

// replicas is how many replicas of a node have everything up to the given write.
func (w *world) replicas(n *node, upTo int) int {
	if w.program.Topology != impls.Replicated || n.index != w.primary || w.replication.stopped {
		return 0
	}
	return boolInt(!w.replication.apart && w.replication.applied >= upTo)
}

// wait is WAIT numreplicas timeout: for the writes up to the last command of the same connection, whoever's they are.
func (w *world) wait(q *request) ([]byte, bool) {
	if len(q.args) != 3 {
		return []byte("-ERR wrong number of arguments for 'wait' command\r\n"), true
	}
	want, _ := strconv.Atoi(q.args[1])
	millis, _ := strconv.Atoi(q.args[2])
	q.upTo = q.conn.seen
	answer := func(force bool) ([]byte, bool) {
		got := w.replicas(q.conn.server, q.upTo)
		return []byte(":" + strconv.Itoa(got) + "\r\n"), force || got >= want
	}
	return w.park(q, time.Duration(millis)*time.Millisecond, answer)
}

// CutReplication ends the replication of the pair: how much the new primary has not got is what happens until the failover.
func (w *world) CutReplication(context.Context) error {
	w.replication.cut, w.replication.apart = true, true
	return nil
}

// Failover kills the primary and makes the replica, with the writes that reached it, the primary.
func (w *world) Failover(ctx context.Context) (had string, e history.Effect, err error) {
	if w.replication.stopped {
		return "", e, fmt.Errorf("%w: the pair has failed over", faults.ErrNothing)
	}
	old, err := w.up(w.primary)
	if err != nil {
		return "", e, err
	}
	if replica := w.nodes[1-w.primary]; replica.down || replica.paused { // the primary is killed all the same, as on servers
		return "", e, errors.Join(fmt.Errorf("node %d, the replica, does not answer", replica.index+1), w.KillServer(ctx, w.primary))
	}
	lock, has := old.copy(time.Now()), w.nodes[1-w.primary].copy(time.Now())
	if len(lock.entries) > 0 {
		had = history.ReplicaHad(lock.holdsAs(has))
	}
	e = history.Effect{What: history.Promoted, Turn: w.replication.turn, Known: true}
	e.Kept, e.Lost = lock.lostTo(has)
	old.down = true
	w.dropConns(old)
	w.primary = 1 - w.primary
	w.replication.stopped, w.replication.stream = true, nil
	w.nodes[w.primary].turn = old.turn
	clear(w.nodes[w.primary].scripts)
	return had, e, nil
}
