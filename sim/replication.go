package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// replication is the stream from the primary to the replica: the state after each write that the replica has not got.
type replication struct {
	stream  []dataset
	ready   int
	written int    // writes of the primary so far
	applied int    // of these, how many the replica has
	turn    uint64 // the last command of which the replica has the effect
	stopped bool
	cut     bool // a failover is under way: nothing reaches the replica any more
}

func (r *replication) push(d dataset, step int) {
	if len(r.stream) == 0 {
		r.ready = step
	}
	r.stream = append(r.stream, d)
	r.written++
}

func (r *replication) pending() bool { return len(r.stream) > 0 && !r.stopped && !r.cut }

// replicateOne returns the replica the oldest write it has not got.
func (w *world) replicateOne() {
	d := w.replication.stream[0]
	w.replication.stream = w.replication.stream[1:]
	w.replication.applied++
	w.replication.turn = d.turn
	w.replication.ready = w.step
	w.nodes[1-w.primary].load(d, time.Now())
	w.retryParked(w.nodes[w.primary])
}

// replicas is how many replicas of a node have everything up to the given write.
func (w *world) replicas(n *node, upTo int) int {
	if w.program.Topology != impls.Replicated || n.index != w.primary || w.replication.stopped {
		return 0
	}
	return boolInt(w.replication.applied >= upTo)
}

// wait is WAIT numreplicas timeout.
func (w *world) wait(q *request) ([]byte, bool) {
	if len(q.args) != 3 {
		return []byte("-ERR wrong number of arguments for 'wait' command\r\n"), true
	}
	want, _ := strconv.Atoi(q.args[1])
	millis, _ := strconv.Atoi(q.args[2])
	q.upTo = w.replication.written
	answer := func(force bool) ([]byte, bool) {
		got := w.replicas(q.conn.server, q.upTo)
		return []byte(":" + strconv.Itoa(got) + "\r\n"), force || got >= want
	}
	return w.park(q, time.Duration(millis)*time.Millisecond, answer)
}

// written keeps what replication will need of a node's data after a write.
func (w *world) written(n *node) {
	if w.program.Topology == impls.Replicated && n.index == w.primary {
		w.replication.push(n.copy(time.Now()), w.step)
	}
}

// CutReplication ends the replication of the pair: how much the new primary has not got is what happens until the failover.
func (w *world) CutReplication(context.Context) error {
	w.replication.cut = true
	return nil
}

// Failover kills the primary and makes the replica, with the writes that reached it, the primary.
func (w *world) Failover(context.Context) (had string, e history.Effect, err error) {
	if w.replication.stopped {
		return "", e, fmt.Errorf("%w: the pair has failed over", faults.ErrNothing)
	}
	old := w.nodes[w.primary]
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
