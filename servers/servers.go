// Package servers starts Redis in the topology that a lock needs (standalone, replicated pair,
// independent masters, cluster) and injects server faults: kill, restart, pause, promote, set the
// clock, evict keys.
//
// A [Provider] starts processes or containers, or connects to a user's Redis by URL: without server
// faults, and only under the run's prefix.
//
// Clients dial a node by its index through its [Deployment], which finds its present address even
// after a container's restart on another port.
package servers

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// The errors of this package. They are wrapped with the operation and with how to get what is
// missing.
var (
	// ErrMissing means that this machine lacks something that the provider needs.
	ErrMissing = errors.New("not available")
	// ErrRefused means that the provider does not allow this (a server fault on a user's Redis, an
	// unsupported topology).
	ErrRefused = errors.New("refused")
	// ErrAddresses is an ErrRefused: the user gave more or fewer URLs than the lock has servers.
	ErrAddresses error = wrongAddresses{}
	// ErrLost means that a server stopped answering although no fault hit it.
	ErrLost = errors.New("the server does not answer any more")
	// ErrState means that the fault is impossible in the node's state (killing a dead node,
	// restarting a live one).
	ErrState = errors.New("wrong state")
)

// Spec describes a deployment.
type Spec struct {
	Topology impls.Topology // "" means Standalone
	// of Independent, 1 to 16, 0 means 5; of Replicated, 2 to 16, 0 means 2; of Cluster, 3 to 16, 0
	// means 3. Other topologies fix their own number.
	Nodes       int
	Persistence impls.Persistence // "" means impls.PersistNone
	MaxMemory   int64             // bytes with allkeys-lru eviction; 0 means unlimited
	ClockFaults bool              // the server's clock must be settable
	Log         bool              // the servers record what they execute, see Deployment.Log
	MinReplicas int               // min-replicas-to-write, with a lag of a second at most; 0: none
	DownAfter   time.Duration     // of a topology with sentinels, see DefaultDownAfter; 0 means that
	Name        string            // for directories and container names; letters, digits, hyphens; "" means redis
	Prefix      string            // of the run's keys; on a user's Redis, no others are deleted
	Derives     impls.Deriver     // finds keys that the lock's scripts make without naming them; nil: none
}

// Provider starts deployments.
type Provider interface {
	Name() string // process, docker, url
	// the servers are a user's: no faults there, and no keys but those under a prefix
	Guest() bool
	Available(ctx context.Context) error                      // nil, or ErrMissing with how to get it
	Start(ctx context.Context, spec Spec) (Deployment, error) // the servers are empty and answer
}

// Deployment is a set of nodes, numbered from 0, for concurrent use. A server fault returns once
// confirmed, or ErrRefused, ErrMissing or ErrState.
//
// Of replicated nodes, Addr, Dial, FlushScripts and the methods of keys follow the roles: node 0,
// and of a cluster nodes 0 to 2, are the current primaries. The faults of processes and clocks, and
// Info, name the machine: node 0 is the initial primary, whatever its role is now. With sentinels,
// all name it.
type Deployment interface {
	Topology() impls.Topology
	Len() int
	Info(ctx context.Context) ([]history.Server, error) // for the run record; a node that is down has only its name

	// Addr is the present host:port, an IP literal unless the user's URL names a host; "" while the
	// node is down.
	Addr(node int) string
	// Dial makes a new connection to the node's present address, logged in and in the right
	// database.
	Dial(ctx context.Context, node int) (net.Conn, error)

	Kill(ctx context.Context, node int) error    // SIGKILL, confirmed dead
	Restart(ctx context.Context, node int) error // start a killed node again, confirmed answering
	Pause(ctx context.Context, node int) error   // stop without killing, confirmed stopped
	Resume(ctx context.Context, node int) error  // confirmed running; no effect on a running node

	// Promote makes the first replica of a primary the primary, to which Dial(node) then connects;
	// it does not stop the other.
	Promote(ctx context.Context, node int) error
	// SetReplication cuts the replication of a primary to its first replica, or makes all that are
	// not the current primary replicas of it again.
	SetReplication(ctx context.Context, node int, flowing bool) error

	// JumpClock moves the server's clock from what it shows now. Its rate stays. Like the next two,
	// it returns the instant of the change.
	JumpClock(ctx context.Context, node int, by time.Duration) (at time.Time, err error)
	// DriftClock sets the rate of the server's clock from now on (0.01 to 100; 1 = true).
	DriftClock(ctx context.Context, node int, rate float64) (at time.Time, err error)
	// SetClockRight sets the server's clock to the machine's, and returns how far it was ahead.
	SetClockRight(ctx context.Context, node int) (was time.Duration, at time.Time, err error)

	FlushScripts(ctx context.Context, node int) error // SCRIPT FLUSH
	// Keys returns the keys under a prefix. On a user's Redis it considers only keys named by
	// requests over connections from Dial.
	Keys(ctx context.Context, node int, prefix string) ([]string, error)
	DeleteKeys(ctx context.Context, node int, keys ...string) error // DEL, by an operator
	// EvictKeys fills the server's memory, under a policy that may evict any key, until each of the
	// keys is gone, and restores the settings. It returns the evictions, also those of other keys:
	// several of a key that was written again meanwhile, none of a key that was deleted otherwise.
	EvictKeys(ctx context.Context, node int, keys ...string) ([]Eviction, error)

	// Log returns what the nodes execute; nil if it is not recorded. The caller closes it.
	Log() *Log
	// Sentinels returns what watches the servers; nil in a topology without sentinels.
	Sentinels() *Sentinels
	// Close ends and removes everything that was started; on a user's Redis, it deletes the run's
	// keys.
	Close() error
}
