package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

func (w *world) Nodes() int { return len(w.lockNodes()) }

func (w *world) KillServer(_ context.Context, node int) error {
	n, err := w.up(node)
	if err != nil {
		return err
	}
	// what Redis has written outlives its process: it hands a write to the operating system before
	// it replies. What everysec risks is lost only when the machine fails
	if n.had, n.kept = n.copy(w.clock()), (dataset{}); w.program.Persistence != impls.PersistNone && w.program.Persistence != "" {
		n.kept = n.had
	}
	n.down, n.paused = true, false
	w.dropConns(n)
	w.disconnected(n)
	return nil
}

// RestartServer restarts a node with the data that its persistence kept.
func (w *world) RestartServer(_ context.Context, node int) (history.Effect, error) {
	n := w.nodes[node]
	n.down = false
	n.ForgetScripts()
	w.endLeases(n)
	had := n.Copy(w.clock())
	n.Load(n.kept.data, w.clock())
	w.suffered(n, history.Restarted, fakeredis.Difference(had, n.Copy(w.clock())))
	w.reconnected(n)
	kept, lost := n.had.lostTo(n.kept)
	return history.Effect{What: history.Restarted, Turn: n.kept.turn, Known: true, Kept: kept, Lost: lost}, nil
}

// dropConns breaks every connection of a node. What the node had sent is lost.
func (w *world) dropConns(n *node) {
	var conns []*conn
	for _, cn := range w.conns {
		if cn.server == n && cn.lost == nil {
			cn.requests = nil
			conns = append(conns, cn)
		}
	}
	w.inTurn(conns, func(cn *conn) { cn.fail(errGone) })
}

func (w *world) StopServer(_ context.Context, node int) error {
	n, err := w.up(node)
	if err == nil {
		n.paused = true
	}
	return err
}

func (w *world) ContinueServer(_ context.Context, node int) error {
	w.nodes[node].paused = false
	w.wakeDriver()
	return nil
}

func (w *world) JumpClock(_ context.Context, node int, by time.Duration) (e history.Effect, err error) {
	n, err := w.up(node)
	if err != nil {
		return e, err
	}
	w.endLeases(n)
	w.suffered(n, history.ClockSet, n.Jump(w.clock(), by))
	return history.Effect{What: history.ClockSet, By: int64(by), Turn: n.turn, Known: true}, nil
}

func (w *world) DriftClock(_ context.Context, node int, rate float64) (e history.Effect, err error) {
	n, err := w.up(node)
	if err != nil {
		return e, err
	}
	w.endLeases(n)
	w.suffered(n, history.ClockRate, n.SetRate(w.clock(), rate))
	return history.Effect{What: history.ClockRate, PPM: int64((rate - 1) * 1e6), Turn: n.turn, Known: true}, nil
}

func (w *world) SetClockRight(_ context.Context, node int) ([]history.Effect, error) {
	n, now := w.nodes[node], w.clock()
	off := n.Clock().Now(now).Sub(now)
	w.endLeases(n)
	w.suffered(n, history.ClockRate, n.SetRate(now, 1))
	w.suffered(n, history.ClockSet, n.Jump(now, -n.Clock().Offset))
	return []history.Effect{{What: history.ClockRate, Turn: n.turn, Known: true},
		{What: history.ClockSet, By: -int64(off), Turn: n.turn, Known: true}}, nil
}

func (w *world) FlushScripts(_ context.Context, node int) error {
	n, err := w.up(w.role(node))
	if err == nil {
		n.ForgetScripts()
	}
	return err
}

// DeleteKeys deletes the lock's keys from a node.
func (w *world) DeleteKeys(_ context.Context, node int) (e history.Effect, err error) {
	return w.removeKeys(node, history.Deleted)
}

// EvictKeys evicts the lock's keys from a node, as if its memory were full.
func (w *world) EvictKeys(_ context.Context, node int) ([]history.Effect, error) {
	e, err := w.removeKeys(node, history.Evicted)
	if err != nil || e.What == "" {
		return nil, err
	}
	return []history.Effect{e}, nil
}

// removeKeys removes the lock's keys from a node. A replica has no keys of its own to remove.
func (w *world) removeKeys(node int, what string) (e history.Effect, err error) {
	if node >= len(w.addrs) {
		return e, nil
	}
	n, err := w.up(w.role(node))
	if err != nil {
		return e, err
	}
	w.endLeases(n)
	keys := n.Empty(w.clock())
	if len(keys) == 0 {
		return e, nil
	}
	w.suffered(n, what, n.Changed())
	n.turn++
	w.written(n)
	return history.Effect{What: what, Lost: keys, Turn: n.turn, Known: true}, nil
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
	i, j := slices.Index(w.roles, old.index), slices.Index(w.roles, promoted.index)
	w.roles[i], w.roles[j] = w.roles[j], w.roles[i]
	fakeredis.Succeed(old.Node, promoted.Node)
	w.links = slices.DeleteFunc(w.links, func(l link) bool { return l.replica == promoted })
	for i := range w.links {
		if w.links[i].primary == old {
			w.links[i].primary = promoted
		}
	}
	promoted.turn, promoted.recorded, promoted.writes = old.turn, old.recorded, old.writes
	promoted.Ended() // its leases were not those of the node that clients knew
	promoted.ForgetScripts()
	w.disconnected(promoted)
	w.reconnected(promoted)
	w.suffered(promoted, history.Promoted, fakeredis.Difference(lock.data, has.data))
	return had, e, nil
}
