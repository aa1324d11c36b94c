// Package workloads defines what clients do: acquire a lock, read, think and write back in the
// guarded store, and release.
//
// A workload uses the lock and the store through a [Client], which records every call. It announces
// moments, at which its runner may stall or kill the client. The guarded store is plain keys of the
// same Redis, written without checking the lock; only the store of a fenced lock compares fences.
// The package reads no clock: a Client has one.
//
// A world (real or simulated) fills in an [Access] for each client, [Connect] makes a Client with
// its own connections, and [Workload.Run] runs its rounds until they are done or its context ends.
package workloads

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Recorder records what a client does.
type Recorder interface {
	// Begin reports that an operation was called, in case the client crashes before it returns.
	Begin(op history.Operation)
	// Add records an operation that has returned.
	Add(op history.Operation)
}

// Client is one client of a run.
type Client struct {
	Name   string // c1, c2, …
	Index  int    // from 0
	config Config
	leased bool // the server ends a hold after config.Lease
	fenced bool // the store compares fences
	// open opens the client's lock on a key; onRenew is called for every extend that the lock does
	// by itself.
	open     func(key string, onRenew func(impls.Renewal)) (impls.Lock, error)
	store    Store
	clock    impls.Clock
	timeline func() int64 // nanoseconds on the run's base
	record   Recorder
	rand     *rand.Rand
	// at announces a moment. It returns after any stall placed there; impls.ErrCrashed if the
	// client was killed.
	at func(ctx context.Context, m history.Moment, key string) error
	// Scope, if set, returns the context of an acquire, so that it can be cancelled from outside.
	Scope func(ctx context.Context) (context.Context, context.CancelFunc)
	// Pace returns the intended start of round n (from 0) on the timeline, for open loops; nil
	// means closed loop.
	Pace func(n int) int64
	// Stop is closed to end the client after its current round. nil means never.
	Stop <-chan struct{}
	// Observe, if set, is called with the times of every operation on the timeline. Only a round's
	// first acquire has an intended start that differs from its call.
	Observe func(op history.Op, outcome history.Outcome, intended, call, ret int64)
	// Relay is shared by the clients of one process, for the workload handoff; nil means none.
	Relay *Relay

	handles  map[string]*handle
	zipf     []float64 // for the workload spread; nil until its first round
	intended int64     // start of the round under way
	due      bool      // its first acquire was not called yet
}

// Config has a scenario's parameters of a workload. Durations are resolved.
type Config struct {
	Ops         int           // rounds per client; 0 means until ctx ends
	Lease       time.Duration // of the lock
	Think       time.Duration // inside the critical section, between read and write back
	Slow        time.Duration // replaces Think for this client; 0 means Think
	Pause       time.Duration // between rounds
	Keep        time.Duration `json:",omitempty"` // between the work of a tick and the release
	AcquireWait time.Duration // deadline of a waiting acquire; 0 means Try instead of Acquire
	Keys        int           // for workloads with many keys; 0 means 1
	// clients, the first, that only read, while the others only write; 0: each does both
	Readers int      `json:",omitempty"`
	Amounts [2]int64 // transfer: payment and remittance; zero means 100 and 10
}

// think returns how long the client works inside its critical section.
func (c *Client) think() time.Duration {
	return cmp.Or(c.config.Slow, c.config.Think)
}

// handle is the client's lock on one key. It records what it does.
type handle struct {
	client  *Client
	key     string
	lock    impls.Lock
	mu      sync.Mutex // a notice of a loss comes from another goroutine
	grants  []held     // innermost last; more than one only after re-entry
	watches []*lossWatch
}

type held struct {
	impls.Grant
	mode history.Mode
}

// lossWatch is the goroutine that records the notice of a loss.
type lossWatch struct {
	of   <-chan struct{}
	stop chan struct{}
	done sync.WaitGroup
}
