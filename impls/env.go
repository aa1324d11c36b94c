package impls

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Env is the environment of a lock.
type Env struct {
	// Key names the lock. A lock with several Redis keys derives them from it, in one hash slot
	// unless its source does otherwise.
	Key string
	// Owner identifies the client. It is unique unless a scenario makes it collide.
	Owner string
	// Lease is how long the server keeps a hold that is not extended. Locks without a lease ignore
	// it.
	Lease time.Duration
	// Poll is the interval between the attempts of a waiting Acquire. 0 means DefaultPoll.
	Poll time.Duration
	// MaxTries bounds the attempts of a waiting Acquire. 0 means until ctx ends.
	MaxTries int
	// Permits is the number of holders of a semaphore. 0 means 1.
	Permits int
	// NodeTimeout bounds one request to one node of a quorum. 0 means a twentieth of the lease.
	NodeTimeout time.Duration
	// Replicas is how many replicas the primary has, for locks that wait for them. 0 means 1.
	Replicas int

	// Nodes are this client's Redis clients, one per node; a cluster is one entry. Automatic
	// retries are off.
	Nodes []redis.UniversalClient
	// Addrs are the addresses of the nodes, for libraries with their own Redis client.
	Addrs []string
	// Master is MasterName if Addrs are those of sentinels, and "" if they are the nodes'.
	Master string
	// Dial opens a connection of this client; such libraries must use it, with an address from
	// Addrs, or one that a cluster or a sentinel named.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Clock is the client's clock.
	Clock Clock
	// Rand is this client's source of tokens and jitter.
	Rand io.Reader
	// OnRenew, if set, is called for every extend that the lock does by itself. It must not block.
	OnRenew func(Renewal)
	// Shared is shared by all handles of this client; nil: they share nothing.
	Shared *Shared
}

// MasterName is the name by which the sentinels of a run know the primary.
const MasterName = "lockbench"

// DefaultPoll is the interval between attempts if Env.Poll is 0.
const DefaultPoll = 10 * time.Millisecond

// Redis returns the first node's client: the standalone server, the primary of a replicated pair,
// or the cluster.
func (e Env) Redis() redis.UniversalClient { return e.Nodes[0] }

// OnCluster reports whether Redis is a cluster.
func (e Env) OnCluster() bool {
	if len(e.Nodes) == 0 { // a child connects to them
		return false
	}
	_, cluster := e.Redis().(*redis.ClusterClient)
	return cluster
}

// PollInterval returns Poll or its default.
func (e Env) PollInterval() time.Duration { return cmp.Or(e.Poll, DefaultPoll) }

// TokenBytes is the size of a token in bytes, as in the Redis documentation's lock pattern. In
// hexadecimal it is twice as long.
const TokenBytes = 20

// NewToken returns a random token, unique among all clients and grants.
func NewToken(r io.Reader) (string, error) {
	var b [TokenBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Clock is a client's own clock. A skewed client has a skewed Clock; a stalled client's Sleep does
// not return.
type Clock interface {
	// Now returns the client's wall clock time.
	Now() time.Time
	// Sleep returns nil after d, or ctx.Err() if ctx ends first. d <= 0 returns at once.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock (the bubble's, inside testing/synctest).
type SystemClock struct{}

var _ Clock = SystemClock{}

// Now returns time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep waits for d or the end of ctx.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shared is state shared by the handles of one client, for locks whose source keeps one object for
// all keys. The zero value is ready to use; it is safe for concurrent use.
type Shared struct {
	mu     sync.Mutex // protects values
	values map[string]any
}

// Get returns the value under a name, made by make on the first call. A nil Shared makes a new
// value on every call.
func (s *Shared) Get(name string, make func() any) any {
	if s == nil {
		return make()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]any{}
	}
	if _, ok := s.values[name]; !ok {
		s.values[name] = make()
	}
	return s.values[name]
}
