package subject

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// Config is what a factory gets to make one client's handle on one key.
type Config struct {
	Redis redis.UniversalClient   // the client's own connection, to the first node
	Nodes []redis.UniversalClient // one per node, for locks on several; Redis is the first
	// host:port of each node, for locks with their own Redis client; of the sentinels if Master is
	// set
	Addrs []string
	// Master is the name by which sentinels know the primary; "" if Addrs are nodes. Redis is
	// connected to the primary either way.
	Master string
	// Cluster reports whether Addrs are masters of a cluster. Redis is its client then.
	Cluster bool
	// Dial opens a connection of this client to one of Addrs. A lock with its own Redis client must
	// use it if it can; virtual time requires it.
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Key   string        // of the lock
	TTL   time.Duration // lease: how long the server keeps a hold that is not extended
	Poll  time.Duration // interval at which a waiter polls
	Owner string        // unique among all clients unless a scenario makes them collide

	Permits int // holders that a semaphore admits, at least 1; of no meaning to other locks

	// Skew is by how much the client's clock is off, for a lock that is given its clock.
	Skew time.Duration
	// Renewed, if set, tells of an extend that the lock did by itself. It does not block.
	Renewed func(impls.Renewal)
}

// Factory makes a client's handle for cfg: a [Locker], a [TryLocker], both, or an impls.Lock. It
// may be called again for a client, and for a key.
type Factory func(cfg Config) (any, error)

// Locker is a lock that waits: Lock returns nil once it is granted, and an error if ctx ends first.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// TryLocker is a lock with a single attempt: TryLock returns false if another client holds it.
type TryLocker interface {
	TryLock(ctx context.Context) (bool, error)
	Unlock(ctx context.Context) error
}

// Extender restarts the lease of the hold. An error means that it was not restarted.
type Extender interface {
	Extend(ctx context.Context) error
}

// Tokener returns the hold's token: unique among all holds, and the same from grant to release.
type Tokener interface{ Token() string }

// Fencer returns the fence of the hold: a number that grows with every grant.
type Fencer interface{ Fence() uint64 }

// Validity returns the hold's valid-until, by this process's clock. Without it a lock promises one
// lease from the call.
type Validity interface{ ValidUntil() time.Time }

// LossNotifier closes the channel of the current hold when it learns of its loss. Without Validity
// the lock promises the hold until then.
type LossNotifier interface{ Lost() <-chan struct{} }

// SharedLocker is a lock with a shared mode that waits; the methods of Locker and TryLocker are the
// exclusive mode.
type SharedLocker interface {
	RLock(ctx context.Context) error
	RUnlock(ctx context.Context) error
}

// SharedTryLocker is a lock with a shared mode and a single attempt at it: TryRLock returns false
// if another client holds the exclusive mode.
type SharedTryLocker interface {
	TryRLock(ctx context.Context) (bool, error)
	RUnlock(ctx context.Context) error
}
