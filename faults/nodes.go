package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// The faults of nodes and their data.
const (
	KillServer   = "kill-server"
	PauseServer  = "pause-server"
	Failover     = "failover"
	JumpClock    = "jump-clock"
	DriftClock   = "drift-clock"
	FlushScripts = "flush-scripts"
	DeleteKey    = "delete-key"
	EvictKeys    = "evict-keys"
)

// notPair is why a primary cannot fail over.
const notPair = "there is no replica to promote"

var nodeKinds = []Kind{
	{Name: KillServer, About: "the node is killed, and started again after a while", Did: "was killed and down",
		InSim: "connections break; what persistence did not keep is gone", OnServers: "SIGKILL, then a new process on the same data directory; in Docker the same container",
		On: OneNode, In: InServer, Own: true, Away: true, At: atEvent,
		Uses: []Uses{mayFor}, Harms: true, Placed: atStep, Does: history.Hinders | history.Stops | history.Kills | history.LosesData, do: killServer},
	{Name: PauseServer, About: "the node stops for a while", Did: "was paused",
		InSim: "the node answers nothing", OnServers: "SIGSTOP; in Docker a paused container",
		On: OneNode, In: InServer, Own: true, Away: true, At: atEvent,
		Uses: []Uses{mustFor}, mustEnd: true, Harms: true, Placed: atStep, Does: history.Hinders | history.Stops | history.HoldsRequests, do: pauseServer},
	{Name: Failover, About: "the primary is killed and its replica promoted, the first of several", Did: "was killed and its replica promoted",
		InSim: "the replica has what was delivered to it", OnServers: "the primary gets SIGKILL, the replica REPLICAOF NO ONE, in a cluster CLUSTER FAILOVER TAKEOVER; with a length replication stops first",
		On: aPrimary, In: InServer, Own: true, At: AtStart | atEvent,
		Uses: []Uses{mayFor, mayUntil}, instant: true, Harms: true, Placed: atStep, Does: history.Stops | history.Kills | history.LosesData, do: failover,
		Not: map[impls.Topology]string{impls.Standalone: notPair, impls.Independent: notPair,
			impls.Sentinel: "the sentinels promote one: kill, pause or isolate the primary"}},
	{Name: JumpClock, About: "the node's clock jumps", Did: "had its clock set",
		InSim: "the node's clock is set", OnServers: "a preloaded library shifts the time that the server reads",
		On: OneNode, In: InServer, Own: true, At: atEvent,
		Uses: []Uses{mustBy, mayFor}, instant: true, Harms: true, Clock: true, Placed: atStep, Does: history.MovesClock, do: jumpClock},
	{Name: DriftClock, About: "the node's clock runs fast or slow", Did: "had a clock that ran at a wrong rate",
		InSim: "the node's clock has another rate", OnServers: "the same library changes the rate",
		On: OneNode, In: InServer, Own: true, At: AtStart | atEvent,
		Uses: []Uses{mustRate, mayFor}, Harms: true, Clock: true, Does: history.MovesClock, do: driftClock},
	{Name: FlushScripts, About: "the node forgets all scripts", Did: "lost all scripts",
		InSim: "the scripts are gone", OnServers: "SCRIPT FLUSH",
		On: allNodes, In: InServer, Own: true, At: atEvent,
		instant: true, Placed: atStep, Does: history.ForgetsScripts, do: flushScripts},
	{Name: DeleteKey, About: "somebody deletes the lock's keys", Did: "had its keys deleted by an operator",
		InSim: "the keys are gone", OnServers: "DEL",
		On: allNodes, In: InServer, At: atEvent,
		instant: true, Placed: atStep, Does: history.LosesData, do: deleteKeys},
	{Name: EvictKeys, About: "the node runs out of memory and evicts the lock's keys", Did: "ran out of memory",
		InSim: "the keys are gone", OnServers: "maxmemory is lowered until the server has evicted them",
		On: OneNode, In: InServer, Own: true, At: atEvent,
		instant: true, Harms: true, Placed: atStep, Not: map[impls.Topology]string{impls.Cluster: "a cluster's nodes take no keys but those of their slots, so that nothing can fill their memory"}, Does: history.LosesData, do: evictKeys},
}

// killServer kills a node. Its undo restarts the node with the data that its persistence kept.
func killServer(ctx context.Context, at actionAt) (effect, error) {
	return until(at.KillServer(ctx, at.one()), func(ctx context.Context) error {
		e, err := at.RestartServer(ctx, at.one())
		at.did(at.one(), e)
		return err
	})
}

func pauseServer(ctx context.Context, at actionAt) (effect, error) {
	return until(at.StopServer(ctx, at.one()), func(ctx context.Context) error { return at.ContinueServer(ctx, at.one()) })
}

// failover kills the primary of a pair and promotes its replica. With a length it first cuts the
// replication, so that the replica misses later grants; the undo is then the failover. Without a
// length it kills the primary at once, while replication flows, and the replica has whatever had
// reached it. Either way it records whether the replica had the lock when it took over.
func failover(ctx context.Context, at actionAt) (effect, error) {
	promote := func(ctx context.Context) error {
		had, e, err := at.Failover(ctx, at.one())
		at.did(at.one(), e)
		at.director.mu.Lock()
		defer at.director.mu.Unlock()
		at.fault.window.Replica = had
		return err
	}
	if !at.fault.lasts() {
		return effect{note: "while replication flowed"}, promote(ctx)
	}
	e, err := until(at.CutReplication(ctx, at.one()), promote)
	e.note = "from the end of replication to the promotion of the replica"
	return e, err
}

// jumpClock moves a node's clock. With a length, its undo sets the clock right; without, the clock
// stays moved.
func jumpClock(ctx context.Context, at actionAt) (effect, error) {
	moved, err := at.JumpClock(ctx, at.one(), at.by())
	at.did(at.one(), moved)
	e, err := until(err, at.rightClock())
	if e.note = "clock off by " + at.by().String(); !at.fault.lasts() {
		e.undo = nil
	}
	return e, err
}

func driftClock(ctx context.Context, at actionAt) (effect, error) {
	drifts, err := at.DriftClock(ctx, at.one(), at.fault.Rate)
	at.did(at.one(), drifts)
	e, err := until(err, at.rightClock())
	e.note = fmt.Sprintf("clock at rate %g", at.fault.Rate)
	return e, err
}

func (at actionAt) rightClock() Undo {
	return func(ctx context.Context) error {
		effects, err := at.SetClockRight(ctx, at.one())
		at.did(at.one(), effects...)
		return err
	}
}

func flushScripts(ctx context.Context, at actionAt) (effect, error) {
	var errs []error
	for _, node := range at.nodes() {
		errs = append(errs, at.FlushScripts(ctx, node))
	}
	return effect{}, errors.Join(errs...)
}

// deleteKeys deletes the lock's keys, as an operator might. A node that is down has no keys that a
// client could still see.
func deleteKeys(ctx context.Context, at actionAt) (effect, error) {
	deleted := 0
	var errs []error
	for _, node := range at.nodes() {
		gone, err := at.DeleteKeys(ctx, node)
		at.did(node, gone)
		errs = append(errs, err)
		deleted += len(gone.Lost)
	}
	e, err := effect{note: fmt.Sprintf("%d keys deleted", deleted)}, errors.Join(errs...)
	switch {
	case deleted > 0 && err != nil:
		e.note += "; " + err.Error()
		return e, nil
	case deleted == 0 && err == nil:
		err = fmt.Errorf("%w: the lock has no keys there", ErrNothing)
	}
	return e, err
}

// evictKeys fills a node's memory until it has evicted the lock's keys. One eviction confirms it:
// clients may have deleted and retaken the other keys.
func evictKeys(ctx context.Context, at actionAt) (effect, error) {
	effects, err := at.EvictKeys(ctx, at.one())
	at.did(at.one(), effects...)
	var lost []string
	for _, e := range effects {
		lost = append(lost, e.Lost...)
	}
	evictions := len(lost)
	slices.Sort(lost)
	if err == nil && evictions == 0 {
		err = fmt.Errorf("%w: the lock has no keys there", ErrNothing)
	}
	return effect{note: fmt.Sprintf("%d keys of the lock, %d evictions of them", len(slices.Compact(lost)), evictions)}, err
}
