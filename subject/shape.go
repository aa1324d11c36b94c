package subject

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config is what a lock is made of: one client's handle on one key.
type Config struct {
	Redis redis.UniversalClient   // the client's own connection, to the first node
	Nodes []redis.UniversalClient // one per node, for locks on several; Redis is the first
	Addrs []string                // host:port of each node, for locks that bring their own Redis client
	// Dial opens a connection of this client to one of Addrs. A lock that brings its own Redis client must use it where it can; in virtual time there
	// is no other way.
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Key   string        // of the lock
	TTL   time.Duration // lease: how long the server keeps a hold that nobody extends
	Poll  time.Duration // between two tries of a waiter that polls
	Owner string        // unique among all clients unless a scenario has them collide
}

// Factory makes one client's handle on the lock that cfg names: a [Locker], a [TryLocker], both, or an impls.Lock. It may be
// called several times for one client, and for one key.
type Factory func(cfg Config) (any, error)

// Locker is a lock that waits: Lock returns nil once it is granted, and an error when ctx ends first.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// TryLocker is a lock that asks once: TryLock returns false when another client holds it.
type TryLocker interface {
	TryLock(ctx context.Context) (bool, error)
	Unlock(ctx context.Context) error
}

// Extender restarts the lease of the hold. An error means that it did not.
type Extender interface {
	Extend(ctx context.Context) error
}

// Tokener names the hold: unique among all holds, and the same from the grant to the release.
type Tokener interface{ Token() string }

// Fencer gives the fence of the hold: a number that grows with every grant.
type Fencer interface{ Fence() uint64 }

// Validity tells until when, by this process' clock, the lock promises the hold to the client. A lock without it promises a lease
// from the call.
type Validity interface{ ValidUntil() time.Time }

// LossNotifier closes the channel of the present hold when the lock learns that it is gone. A lock with it and without Validity
// promises the hold until then.
type LossNotifier interface{ Lost() <-chan struct{} }

// SharedLocker is a lock for readers and writers; Lock and Unlock are the writers'.
type SharedLocker interface {
	RLock(ctx context.Context) error
	RUnlock(ctx context.Context) error
}
