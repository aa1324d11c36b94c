// Package workloads is what clients do: compete for a lock, hold it, and read, think and write back in the guarded
// store while they do.
//
// A workload talks to the lock and the store through a [Client], which records every call. It knows nothing of faults: it
// only announces moments, and whoever runs it may stall or kill the client there. It refuses to
// help the lock: the guarded store is plain keys of the same Redis, written without a look at the lock, except that a
// fenced lock's store compares fences.
package workloads

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Moment is a named step of a client at which a fault can be placed.
type Moment string

// The moments that workloads announce, in the order of one round.
const (
	Calling       Moment = "calling"        // about to acquire
	Granted       Moment = "granted"        // the acquire returned and the client knows it holds
	Entered       Moment = "entered"        // inside the critical section, the store has been read
	BeforeRelease Moment = "before-release" // out of the section, about to release
	Released      Moment = "released"       // the release returned
)

// Client is one client of a run, with everything it may touch.
type Client struct {
	Name     string // c1, c2, …
	Index    int    // from 0
	Clients  int    // how many there are
	Config   Config
	Open     func(key string) (impls.Lock, error) // makes the client's handle on a key
	Store    Store
	Clock    impls.Clock
	Timeline func() int64 // nanoseconds on the run's base
	Record   *history.ClientRecorder
	Rand     *rand.Rand
	// At announces a moment. It returns after any stall that was placed there, and an error when the client was killed.
	At func(ctx context.Context, m Moment, key string) error
	// Pace gives the intended start of the client's n-th round (from 0), for open loops; nil means closed loop.
	Pace func(n int) time.Duration
}

// Config is what a scenario sets of a workload. Durations are already resolved.
type Config struct {
	Ops         int           // rounds per client; 0 means until ctx ends
	Lease       time.Duration // of the lock
	Think       time.Duration // inside the critical section, between read and write back
	SlowEvery   int           // every n-th round of the run's first client is slow; 0 means none
	Slow        time.Duration // how long the slow ones think
	Pause       time.Duration // between rounds
	AcquireWait time.Duration // deadline of a waiting acquire; 0 means Try instead of Acquire
	Keys        int           // for workloads with many; 0 means 1
	Amounts     [2]int64      // for transfer: payment and remittance
}

// Store is the guarded store.
type Store interface {
	// Read gives the value now stored under a key; 0 when there is none.
	Read(ctx context.Context, key string) (int64, error)
	// Write stores a value. With fence > 0 the store refuses (ErrStale) when it has seen a higher fence.
	Write(ctx context.Context, key string, value int64, fence uint64) error
}
