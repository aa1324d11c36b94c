package faults

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/history"
)

// ErrNothing means that a fault had no target, such as a call to cancel or a key to delete. The
// fault is not confirmed.
var ErrNothing = errors.New("there was nothing to do it to")

// Undo ends the effect that a method of a World began, and returns once the end is confirmed.
type Undo func(ctx context.Context) error

// World is what faults act on: the simulator, or real clients, links and servers. It decides
// nothing: a [Director] says what, when and for how long, and measures it. Each method returns once
// the effect is in force. Clients are numbered from 1 and nodes from 0.
type World interface {
	// Now returns nanoseconds on the run's base.
	Now() int64
	// After arranges a call of do after d, unless the run is over by then.
	After(d time.Duration, do func())
	// Client returns the client with a number. The error is ErrNothing if it has not joined.
	Client(number int) (Client, error)

	// The links between clients and nodes.

	// no message passes; what was sent arrives afterwards
	Block(ctx context.Context, client, node int) (Undo, error)
	// each way; rate 0 means unlimited
	Slow(ctx context.Context, delay time.Duration, bytesPerSecond float64) (Undo, error)
	// Isolate lets nothing pass between a node and a client, and everything else: other nodes,
	// sentinels and clients. Client 0 is none.
	Isolate(ctx context.Context, node, client int) (Undo, error)
	// with stay, new subscribers are cut too until undo
	CutSubscribers(ctx context.Context, stay bool) (cut int, undo Undo, err error)

	// The lock's nodes. An Effect is what was observed of a node's data or clock; the Director adds
	// node and time.

	Nodes() int
	KillServer(ctx context.Context, node int) error
	RestartServer(ctx context.Context, node int) (history.Effect, error)
	StopServer(ctx context.Context, node int) error
	ContinueServer(ctx context.Context, node int) error
	CutReplication(ctx context.Context, node int) error
	// Failover kills a primary and promotes its replica. had says what the replica had of the lock;
	// see history.Window.
	Failover(ctx context.Context, node int) (had string, e history.Effect, err error)
	JumpClock(ctx context.Context, node int, by time.Duration) (history.Effect, error) // relative to what it shows now
	DriftClock(ctx context.Context, node int, rate float64) (history.Effect, error)    // relative to what it shows now
	SetClockRight(ctx context.Context, node int) ([]history.Effect, error)
	FlushScripts(ctx context.Context, node int) error
	DeleteKeys(ctx context.Context, node int) (history.Effect, error)  // the lock's keys; a replica deletes none
	EvictKeys(ctx context.Context, node int) ([]history.Effect, error) // the lock's keys; an effect for each eviction
}

// Client is a client that faults can stop, crash or cancel.
type Client interface {
	Pause(ctx context.Context) (resume Undo, err error) // stops everything of it, its lock's watchdog included
	// kills it: its connections are closed, and its calls return impls.ErrCrashed
	Crash(ctx context.Context) error
	Cancel(ctx context.Context) error // cancels the context of its acquire
	Hold() (release Undo)             // stops it at its moment; its lock's background goes on
}

// All stands for every client, or every node, of a World's network.
const All = -1

// Subscribes reports whether a command asks for what [World.CutSubscribers] forbids.
func Subscribes(command string) bool {
	return command == "SUBSCRIBE" || command == "PSUBSCRIBE" || command == "SSUBSCRIBE"
}

// Message is a request or a reply on its way.
type Message interface {
	Client() int          // from 1
	Node() int            // from 0; -1 for the guarded store's own server
	Lose()                // drops it and cuts its connection
	Hold() (release Undo) // delays it, and what follows on its connection, until release
}
