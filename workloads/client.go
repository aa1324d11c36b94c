// Package workloads is what clients do: compete for a lock, hold it, and read, think and write back in the guarded
// store while they do.
//
// A workload talks to the lock and the store through a [Client], which records every call. It knows nothing of faults: it
// only announces moments, and whoever runs it may stall or kill the client there. It refuses to
// help the lock: the guarded store is plain keys of the same Redis, written without a look at the lock, except that a
// fenced lock's store compares fences. It reads no clock of its own: a Client carries one.
//
// The flow: a world (real or simulated) fills in an [Access] for each client, [Connect] turns it into a Client with its own
// connections, and [Workload.Run] drives the Client until its rounds are done or its context ends.
package workloads

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Recorder takes what a client does. *history.ClientRecorder is wrapped to be one.
type Recorder interface {
	// Begin tells that an operation was called; what is known of it counts if the client dies before it returns.
	Begin(op history.Operation)
	// Add records an operation that has returned.
	Add(op history.Operation)
}

// Client is one client of a run, with everything it may touch.
type Client struct {
	Name    string // c1, c2, …
	Index   int    // from 0
	Clients int    // how many there are
	Config  Config
	Leased  bool // the server ends a hold after Config.Lease
	Fenced  bool // the store is to compare fences
	// Open makes the client's handle on a key; onRenew is called with every extend that the lock does by itself.
	Open     func(key string, onRenew func(impls.Renewal)) (impls.Lock, error)
	Store    Store
	Clock    impls.Clock
	Timeline func() int64 // nanoseconds on the run's base
	Record   Recorder
	Rand     *rand.Rand
	// At announces a moment. It returns after any stall that was placed there, and impls.ErrCrashed when the client was killed.
	At func(ctx context.Context, m history.Moment, key string) error
	// Scope, when set, gives the context of an acquire, so that it can be cancelled from outside.
	Scope func(ctx context.Context) (context.Context, context.CancelFunc)
	// Pace returns the intended start of the client's n-th round (from 0) on the timeline, for open loops; nil means closed loop.
	Pace func(n int) int64
	// Stop is closed when no new round is to begin; what is under way is finished. nil means never.
	Stop <-chan struct{}
	// Observe, when set, is given the latency of every operation: intended start, call and return on the timeline. Only a
	// round's first acquire has an intended start of its own; what comes after it is meant to start when it is called.
	Observe func(op history.Op, outcome history.Outcome, intended, call, ret int64)

	// Relay, when set, keeps a client that released from asking again before another was granted: what handoff does. It is common to
	// the clients of one process; nil: everybody asks at once.
	Relay *Relay

	handles  map[string]*handle
	intended int64 // start of the round under way
	due      bool  // its first acquire has not been called yet
}

// Config is what a scenario sets of a workload. Durations are already resolved.
type Config struct {
	Ops         int           // rounds per client; 0 means until ctx ends
	Lease       time.Duration // of the lock
	Think       time.Duration // inside the critical section, between read and write back
	Slow        time.Duration // this client's, in place of Think; 0 means Think
	Pause       time.Duration // between rounds
	AcquireWait time.Duration // deadline of a waiting acquire; 0 means Try instead of Acquire
	Keys        int           // for workloads with many; 0 means 1
	Amounts     [2]int64      // transfer: payment and remittance; zero means 100 and 10
}

// think is how long a round of the client works inside its critical section.
func (c *Client) think() time.Duration {
	return cmp.Or(c.Config.Slow, c.Config.Think)
}
