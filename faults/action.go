package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
)

// action applies a fault to a world and returns once it is in force; an error says why that is not
// confirmed. A fault in force despite it has an undo.
type action func(ctx context.Context, at actionAt) (effect, error)

type actionAt struct {
	World
	director *Director
	fault    *Fault
}

type effect struct {
	note string // what was measured
	undo Undo   // nil: there is nothing to undo
}

func (at actionAt) lease() time.Duration { return at.director.cfg.Lease }

// did records the effects of the fault on a node. Those that don't say when they happened did so
// now.
func (at actionAt) did(node int, effects ...history.Effect) {
	d := at.director
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range effects {
		if e.What != "" { // else no effect was observed
			e.Node, e.At = d.cfg.Topology.Address(node), cmp.Or(e.At, at.Now())
			at.fault.window.Effects = append(at.fault.window.Effects, e)
		}
	}
}

func (at actionAt) by() time.Duration { return at.fault.By.Of(at.lease()) }

// one returns the node that the fault affects, from 0.
func (at actionAt) one() int { return max(at.fault.Node, 1) - 1 }

// nodes returns the nodes that the fault affects: the one that it names, or all.
func (at actionAt) nodes() []int {
	if at.fault.Node > 0 {
		return []int{at.fault.Node - 1}
	}
	all := make([]int, at.Nodes())
	for i := range all {
		all[i] = i
	}
	return all
}

// client does something to the client that the fault affects.
func (at actionAt) client(do func(Client) (Undo, error)) (e effect, err error) {
	c, err := at.Client(at.fault.Client)
	if err == nil {
		e.undo, err = do(c)
	}
	return e, err
}

func pauseClient(ctx context.Context, at actionAt) (effect, error) {
	return at.client(func(c Client) (Undo, error) { return c.Pause(ctx) })
}

func crashClient(ctx context.Context, at actionAt) (effect, error) {
	return at.client(func(c Client) (Undo, error) { return nil, c.Crash(ctx) })
}

func cancelClient(ctx context.Context, at actionAt) (effect, error) {
	return at.client(func(c Client) (Undo, error) { return nil, c.Cancel(ctx) })
}

func skewClient(_ context.Context, at actionAt) (effect, error) {
	at.director.standing[at.fault.Client-1].Skew += at.by()
	return effect{note: "clock off by " + at.by().String()}, nil
}

func collideOwners(_ context.Context, at actionAt) (effect, error) {
	for i := range at.director.standing {
		at.director.standing[i].Owner = sharedOwner
	}
	return effect{note: "owner id " + sharedOwner}, nil
}

// sharedOwner is the owner id that all clients have when ids collide.
const sharedOwner = "thread-1"

// slowWork, in force from the start, makes every critical section of the client take For; at a
// moment, it lengthens that one section by For.
func slowWork(_ context.Context, at actionAt) (effect, error) {
	if at.fault.When.Form() == AtStart {
		work := at.fault.For.Of(at.lease())
		at.director.standing[at.fault.Client-1].Work = work
		return effect{note: "work of " + work.String()}, nil
	}
	return at.client(func(c Client) (Undo, error) { return c.Hold(), nil })
}

// loseMessage loses the message. In a replayed schedule the loss is a step of its own.
func loseMessage(_ context.Context, at actionAt) (effect, error) {
	if at.fault.message != nil {
		at.fault.message.Lose()
	}
	return effect{}, nil
}

func holdMessage(_ context.Context, at actionAt) (e effect, err error) {
	if at.fault.message != nil {
		e.undo = at.fault.message.Hold()
	}
	return e, nil
}

func slowNetwork(ctx context.Context, at actionAt) (e effect, err error) {
	e.note = "each way " + at.by().String()
	if at.fault.Rate > 0 {
		e.note += fmt.Sprintf(", %g bytes a second", at.fault.Rate)
	}
	e.undo, err = at.Slow(ctx, at.by(), at.fault.Rate)
	return e, err
}

// block blocks all messages between a client and all nodes, or between all clients and a node.
func block(ctx context.Context, at actionAt) (e effect, err error) {
	client, node := at.fault.Client, All
	if at.fault.kind.On == OneNode {
		client, node = All, at.one()
	}
	e.undo, err = at.Block(ctx, client, node)
	return e, err
}

// isolateServer cuts a node off, with the client at whose moment it begins.
func isolateServer(ctx context.Context, at actionAt) (e effect, err error) {
	if at.fault.Client > 0 {
		e.note = "with " + ClientName(at.fault.Client)
	}
	e.undo, err = at.Isolate(ctx, at.one(), at.fault.Client)
	return e, err
}

func cutSubscribers(ctx context.Context, at actionAt) (e effect, err error) {
	n, undo, err := at.CutSubscribers(ctx, at.fault.lasts())
	if e.undo = undo; err == nil && n == 0 {
		err = fmt.Errorf("%w: no connection subscribes", ErrNothing)
	}
	e.note = fmt.Sprintf("%d connections cut", n)
	return e, err
}

// killServer kills a node. Its undo restarts the node with the data that its persistence kept.
func killServer(ctx context.Context, at actionAt) (effect, error) {
	return until(at.KillServer(ctx, at.one()), func(ctx context.Context) error {
		e, err := at.RestartServer(ctx, at.one())
		at.did(at.one(), e)
		return err
	})
}

// until returns the effect with its undo, or err.
func until(err error, undo Undo) (effect, error) {
	if err != nil {
		return effect{}, err
	}
	return effect{undo: undo}, nil
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
