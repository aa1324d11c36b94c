package faults

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/history"
)

// ErrNothing: there was nothing to do a fault to, such as a call to cancel or a key to delete. The fault is not confirmed.
var ErrNothing = errors.New("there was nothing to do it to")

// Undo ends what a method of a World began, and returns when that was seen.
type Undo func(ctx context.Context) error

// World is what faults are done to: the simulator's, or real clients, links and servers. It does what it is told and decides
// nothing: a [Director] says what, when and for how long, and measures it. Each method returns when the effect is in force.
// Clients are numbered from 1 and nodes from 0.
type World interface {
	// Now is nanoseconds on the run's base.
	Now() int64
	// After arranges that do is called after d, unless the run is over by then.
	After(d time.Duration, do func())

	Clients
	Network
	Servers
}

// Clients is what can be done to clients.
type Clients interface {
	PauseClient(ctx context.Context, client int) (Undo, error) // nothing of it goes on, its lock's watchdog included
	CrashClient(ctx context.Context, client int) error         // it is gone, and its connections are closed
	CancelClient(ctx context.Context, client int) error        // the context of its acquire ends
	HoldClient(ctx context.Context, client int) (Undo, error)  // it does not go on from its moment; its lock's background does
	SkewClient(client int, by time.Duration)                   // its wall clock is off; before it is connected
	SlowClient(client int, work time.Duration)                 // so long is its work inside a section; before it is connected
	CollideOwners() (owner string)                             // all clients have this owner id; before they are connected
}

// SharedOwner is the owner id that all clients have whose ids collide.
const SharedOwner = "thread-1"

// All stands for every client, or every node, of a World's network.
const All = -1

// Network is what can be done to the links between clients and nodes.
type Network interface {
	Block(ctx context.Context, client, node int) (Undo, error)                           // nothing passes; what was sent arrives afterwards
	Slow(ctx context.Context, delay time.Duration, bytesPerSecond float64) (Undo, error) // each way; rate 0 means unlimited
	CutSubscribers(ctx context.Context, stay bool) (cut int, undo Undo, err error)       // with stay, whoever subscribes until undo is cut too
}

// Servers is what can be done to the lock's nodes. An effect is what was seen to become of a node's data or clock; its instant is
// the Director's to add.
type Servers interface {
	Nodes() int
	KillServer(ctx context.Context, node int) error
	RestartServer(ctx context.Context, node int) (history.Effect, error)
	StopServer(ctx context.Context, node int) error
	ContinueServer(ctx context.Context, node int) error
	CutReplication(ctx context.Context) error
	// Failover kills the primary and promotes the replica. had says what the replica had of the lock, see history.Window.
	Failover(ctx context.Context) (had string, e history.Effect, err error)
	JumpClock(ctx context.Context, node int, by time.Duration) (history.Effect, error) // from what it shows now
	DriftClock(ctx context.Context, node int, rate float64) (history.Effect, error)    // from what it shows now
	SetClockRight(ctx context.Context, node int) ([]history.Effect, error)
	FlushScripts(ctx context.Context, node int) error
	DeleteKeys(ctx context.Context, node int) (history.Effect, error)                     // those of the lock; a replica has none to delete
	EvictKeys(ctx context.Context, node int) (e history.Effect, evictions int, err error) // those of the lock
}

// Message is a request or a reply on its way.
type Message interface {
	Client() int            // from 1
	Node() int              // from 0; -1 for the guarded store's own server
	Lose()                  // it never arrives, and its connection is cut
	Hold() (release func()) // it, and what is behind it on its connection, does not go on
}
