// Package servers brings up Redis in the shape that a lock needs (standalone, replicated pair, N independent
// masters, cluster) and does to it what a scenario asks: kill, restart, pause, promote, set the clock, fill the memory until keys are evicted.
//
// A [Provider] says where the servers come from: redis-server processes, containers, or somebody's own Redis by
// URL. It knows nothing of locks. It refuses to touch what it did not start: against a URL no server
// fault is possible and nothing outside the run's key prefix is written or deleted.
//
// Clients dial a node by its index through [Deployment.Dial], which finds the node's present address, so that a container
// that comes back on another port is still the same node.
package servers

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// The errors of this package, always wrapped with what was being done and how to get what is missing.
var (
	// ErrMissing: this machine lacks what the provider needs.
	ErrMissing = errors.New("not available on this machine")
	// ErrRefused: the provider will not do this (a server fault on somebody's Redis, a topology it has not got).
	ErrRefused = errors.New("refused")
	// ErrState: the node is not in the state that the fault starts from (killing a dead node, restarting a live one).
	ErrState = errors.New("wrong state")
)

// Spec says what to bring up.
type Spec struct {
	Topology    impls.Topology    // "" means Standalone
	Nodes       int               // of Independent, 1 to 16; 0 means 5. Other topologies fix their own number.
	Persistence impls.Persistence // "" means impls.PersistNone
	MaxMemory   int64             // bytes with allkeys-lru eviction; 0 means unlimited
	ClockFaults bool              // the server's clock must be settable (SetClock, DriftClock)
	Name        string            // for directories and container names; letters, digits, hyphens; "" means redis
	Prefix      string            // of the run's keys: on somebody's Redis, no others are deleted
	Derives     impls.Deriver     // of the lock whose scripts make keys that they do not name; nil: they make none
}

// NodeInfo describes one node, for the run record.
type NodeInfo struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`          // redis_version
	Config  map[string]string `json:"config,omitempty"` // save, appendonly, appendfsync, maxmemory, maxmemory-policy
	Image   string            `json:"image,omitempty"`  // with its digest
	PID     int               `json:"pid,omitempty"`
}

// Provider brings up deployments.
type Provider interface {
	Name() string                                             // process, docker, url, miniredis
	Available(ctx context.Context) error                      // nil, or ErrMissing with how to get it
	Start(ctx context.Context, spec Spec) (Deployment, error) // up, empty and answering when it returns
}

// Deployment is a running set of nodes, numbered from 0. Its methods may be called from several goroutines. Server faults
// return ErrRefused where they are not offered, ErrMissing where the machine lacks the means, and ErrState where the node
// is not in the state that the fault starts from. Each returns once the effect is confirmed.
//
// In a replicated pair, what goes over a connection follows the roles: Addr, Dial, FlushScripts, DeleteKeys and EvictKeys mean the
// primary of the moment by 0 and the other server by 1. What is done to a machine names the machine: Kill, Restart, Pause,
// Resume, SetClock, DriftClock and Info mean by 0 the server that was the primary at first, whatever it is by now.
type Deployment interface {
	Topology() impls.Topology
	Len() int                                                           // number of nodes
	Addr(node int) string                                               // present host:port, an IP literal unless the user's URL names a host; "" while the node is down
	Dial(ctx context.Context, node int) (net.Conn, error)               // a new connection to the node's present address, logged in and in the right database
	Info(ctx context.Context) ([]NodeInfo, error)                       // for the run record; a node that is down has its name alone
	Kill(ctx context.Context, node int) error                           // SIGKILL, confirmed dead
	Restart(ctx context.Context, node int) error                        // start a killed node again, confirmed answering
	Pause(ctx context.Context, node int) error                          // stop without killing, confirmed stopped
	Resume(ctx context.Context, node int) error                         // confirmed running; a node that is not paused is left alone
	Promote(ctx context.Context) (primary int, err error)               // replicated pair: make the replica the primary; Dial(0) then leads to it. The other is not stopped: kill or pause it first
	SetReplication(ctx context.Context, flowing bool) error             // replicated pair: cut the link, or make the other server a replica of the present primary
	SetClock(ctx context.Context, node int, offset time.Duration) error // set the server's clock offset from the machine's, and its rate to 1
	DriftClock(ctx context.Context, node int, rate float64) error       // from its present offset on, the server's clock runs at rate (0.01 to 100; 1 = true)
	FlushScripts(ctx context.Context, node int) error                   // SCRIPT FLUSH
	DeleteKeys(ctx context.Context, node int, keys ...string) error     // DEL, by an operator
	// Keys lists the keys under a prefix. On somebody's Redis it looks only at those that requests over connections of Dial have named.
	Keys(ctx context.Context, node int, prefix string) ([]string, error)
	// EvictKeys makes the server run out of memory under a policy that may evict any key, until each of the keys was evicted. It tells how
	// many of them were: more than once, a key that was written again; fewer, one that went for another reason. Then the server's settings
	// are what they were, and nothing is left of what filled it.
	EvictKeys(ctx context.Context, node int, keys ...string) (evicted int, err error)
	Close() error // everything that was started is gone when it returns; on somebody's Redis, the run's keys
}
