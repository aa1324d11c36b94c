package impls

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Env is everything a lock may touch. The zero value of an optional field means what its comment says.
type Env struct {
	// Key names the lock. A variant that keeps several Redis keys derives them from it, in one hash slot
	// unless its source does otherwise.
	Key string
	// Owner identifies the client; unique among all clients unless a scenario makes it collide.
	Owner string
	// Lease is how long the server keeps a hold that nobody extends. Ignored by variants without one.
	Lease time.Duration
	// Poll is the interval between the tries of a waiting Acquire. 0 means DefaultPoll.
	Poll time.Duration
	// MaxTries bounds the tries of a waiting Acquire. 0 means until ctx ends.
	MaxTries int
	// Permits is the number of holders a semaphore admits. 0 means 1.
	Permits int
	// NodeTimeout bounds one request to one node of a quorum. 0 means a twentieth of the lease.
	NodeTimeout time.Duration
	// WaitReplicas is how many replicas must confirm a grant, for variants that ask. 0 means 1.
	WaitReplicas int

	// Nodes are this client's own connections, one client per node; a cluster is one entry. Automatic retries are off.
	Nodes []redis.UniversalClient
	// Addrs are the addresses of the nodes, for libraries that bring their own Redis client.
	Addrs []string
	// Dial opens a connection of this client; such libraries must use it, with an address from Addrs.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Clock is the client's clock.
	Clock Clock
	// Rand is the source of tokens and of jitter. It is this client's own.
	Rand io.Reader
	// OnRenew, when set, is called with every extend that the lock does by itself. It must not block.
	OnRenew func(Renewal)
	// Shared is common to all handles of this client. nil: every handle is on its own.
	Shared *Shared
}

// DefaultPoll is the interval between tries when Env.Poll is 0.
const DefaultPoll = 10 * time.Millisecond

// Redis is the first node's client: the only one of a standalone server, a replicated pair's primary, a cluster.
func (e Env) Redis() redis.UniversalClient { return e.Nodes[0] }

// OnCluster tells an Env whose Redis is a cluster, which keeps a key on the node that its slot belongs to.
func (e Env) OnCluster() bool {
	_, cluster := e.Redis().(*redis.ClusterClient)
	return cluster
}

// PollInterval is Poll or its default.
func (e Env) PollInterval() time.Duration {
	if e.Poll > 0 {
		return e.Poll
	}
	return DefaultPoll
}
