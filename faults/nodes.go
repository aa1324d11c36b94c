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
func killServer(ctx context.Context, at actionAt) (Undo, error) {
	if err := at.KillServer(ctx, at.one()); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		e, err := at.RestartServer(ctx, at.one())
		at.did(at.one(), e)
		return err
	}, nil
}

func pauseServer(ctx context.Context, at actionAt) (Undo, error) {
	if err := at.StopServer(ctx, at.one()); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return at.ContinueServer(ctx, at.one()) }, nil
}

// failover kills the primary of a pair and promotes its replica. With a length it first cuts the
// replication, so that the replica misses later grants; the undo is then the failover. Without a
// length it kills the primary at once, while replication flows, and the replica has whatever had
// reached it. Either way it records whether the replica had the lock when it took over.
func failover(ctx context.Context, at actionAt) (Undo, error) {
	promote := func(ctx context.Context) error {
		had, e, err := at.Failover(ctx, at.one())
		at.did(at.one(), e)
		at.director.mu.Lock()
		defer at.director.mu.Unlock()
		at.fault.window.Replica = had
		return err
	}
	if !at.fault.lasts() {
		at.note("while replication flowed")
		return nil, promote(ctx)
	}
	at.note("from the end of replication to the promotion of the replica")
	if err := at.CutReplication(ctx, at.one()); err != nil {
		return nil, err
	}
	return promote, nil
}

func jumpClock(ctx context.Context, at actionAt) (Undo, error) {
	at.note("clock off by %v", at.by())
	moved, err := at.JumpClock(ctx, at.one(), at.by())
	at.did(at.one(), moved)
	if err != nil || !at.fault.lasts() { // without a length, the clock stays moved
		return nil, err
	}
	return at.rightClock, nil
}

func driftClock(ctx context.Context, at actionAt) (Undo, error) {
	at.note("clock at rate %g", at.fault.Rate)
	drifts, err := at.DriftClock(ctx, at.one(), at.fault.Rate)
	at.did(at.one(), drifts)
	if err != nil {
		return nil, err
	}
	return at.rightClock, nil
}

func (at actionAt) rightClock(ctx context.Context) error {
	effects, err := at.SetClockRight(ctx, at.one())
	at.did(at.one(), effects...)
	return err
}

func flushScripts(ctx context.Context, at actionAt) (Undo, error) {
	var errs []error
	for _, node := range at.nodes() {
		errs = append(errs, at.FlushScripts(ctx, node))
	}
	return nil, errors.Join(errs...)
}

// deleteKeys deletes the lock's keys, as an operator might. A node that is down has no keys that a
// client could still see.
func deleteKeys(ctx context.Context, at actionAt) (Undo, error) {
	deleted := 0
	var errs []error
	for _, node := range at.nodes() {
		gone, err := at.DeleteKeys(ctx, node)
		at.did(node, gone)
		errs = append(errs, err)
		deleted += len(gone.Lost)
	}
	err := errors.Join(errs...)
	switch at.note("%d keys deleted", deleted); {
	case deleted > 0 && err != nil:
		at.note("%d keys deleted; %v", deleted, err)
		return nil, nil
	case deleted == 0 && err == nil:
		err = fmt.Errorf("%w: the lock has no keys there", ErrNothing)
	}
	return nil, err
}

// evictKeys fills a node's memory until it has evicted the lock's keys. One eviction confirms it:
// clients may have deleted and retaken the other keys.
func evictKeys(ctx context.Context, at actionAt) (Undo, error) {
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
	at.note("%d keys of the lock, %d evictions of them", len(slices.Compact(lost)), evictions)
	return nil, err
}
