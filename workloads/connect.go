package workloads

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Access is what a world gives to one client: ways to the servers, time, and a place for faults.
type Access struct {
	Addrs     []string // one IP literal and port per node of the lock
	StoreAddr string   // of the server that keeps the guarded store
	// Dial opens a connection of this client. Everything that the client sends goes through it.
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	Clock    impls.Clock
	Timeline func() int64
	At       func(ctx context.Context, m history.Moment, key string) error
	Record   Recorder
	// Seed makes the client's tokens, jitter and choices.
	Seed [32]byte
	// Timeout bounds the wait for one reply; 0 means three seconds.
	Timeout time.Duration
	// Buffer is the size in bytes of the buffers of each connection; 0 means the Redis client's own, 32 KiB each way. A world
	// that makes thousands of clients a second spends its time on clearing them.
	Buffer int
	// Pool is how many connections to one node the client may have; 0 means four.
	Pool int
}

// Setup is what the clients of a run have in common, and the client's place among them.
type Setup struct {
	Variant   impls.Variant
	Config    Config
	Index     int
	Clients   int
	Owner     string        // "" means the client's name
	Prefix    string        // of every key that the run touches
	Poll      time.Duration // between tries of waiters that poll
	Permits   int
	NodeLimit time.Duration // per-node time-out of quorum locks; 0 means their default
}

// Connect makes a client with connections of its own. The returned close ends its locks and its connections.
func Connect(a Access, s Setup) (*Client, func() error) {
	name := ClientName(s.Index)
	nodes, closeNodes := connectNodes(a, s.Variant.Topology)
	storage := redis.NewClient(ClientOptions(a, a.StoreAddr))
	source := rand.NewChaCha8(a.Seed)
	c := &Client{
		Name: name, Index: s.Index, Clients: s.Clients, Config: s.Config, Leased: !s.Variant.Traits.NoLease, Fenced: s.Variant.Traits.Fenced,
		Store: RedisStore{Client: storage, Prefix: StorePrefix(s.Prefix), Loose: loose(s.Variant)},
		Clock: a.Clock, Timeline: a.Timeline, Record: a.Record, At: a.At,
		Rand: rand.New(rand.NewChaCha8(shift(a.Seed))),
	}
	shared := &impls.Shared{}
	c.Open = func(key string, onRenew func(impls.Renewal)) (impls.Lock, error) {
		env := environment(a, s, source)
		env.Key, env.Nodes, env.OnRenew, env.Shared = s.Prefix+key, nodes, onRenew, shared
		return s.Variant.New(env)
	}
	return c, func() error { return errors.Join(c.Close(), closeNodes(), storage.Close()) }
}

// ClientName is the name of the client with an index: c1, c2, …
func ClientName(index int) string { return "c" + strconv.Itoa(index+1) }

// ClientIndex is the index of the client with a name; -1 for a name that ClientName does not give.
func ClientIndex(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	if err != nil || n < 1 || ClientName(n-1) != name {
		return -1
	}
	return n - 1
}

func environment(a Access, s Setup, source io.Reader) impls.Env {
	owner := s.Owner
	if owner == "" {
		owner = ClientName(s.Index)
	}
	return impls.Env{
		Owner: owner, Lease: s.Config.Lease, Poll: s.Poll, Permits: s.Permits, NodeTimeout: s.NodeLimit,
		Addrs: a.Addrs, Dial: a.Dial, Clock: a.Clock, Rand: source,
	}
}

// shift returns another seed, so that the order in which a lock and a workload draw does not mix.
func shift(seed [32]byte) [32]byte {
	seed[0] ^= 0x55
	return seed
}

func connectNodes(a Access, t impls.Topology) ([]redis.UniversalClient, func() error) {
	if t == impls.Cluster {
		c := redis.NewClusterClient(clusterOptions(a))
		return []redis.UniversalClient{c}, c.Close
	}
	nodes := make([]redis.UniversalClient, len(a.Addrs))
	for i, addr := range a.Addrs {
		nodes[i] = redis.NewClient(ClientOptions(a, addr))
	}
	return nodes, func() error {
		var errs []error
		for _, n := range nodes {
			errs = append(errs, n.Close())
		}
		return errors.Join(errs...)
	}
}

// poolSize is more than a client's own call, its lock's watchdog, its subscriptions and its clean-ups will ever use at once: nobody is
// to wait for a connection, which would be a wait for the harness and not for the lock.
const poolSize = 64

const defaultTimeout = 3 * time.Second

// ClientOptions switch everything off that the Redis client would do behind the lock's back: a retry turns a lost reply into
// "busy", and a notification handshake sends commands that nobody asked for.
func ClientOptions(a Access, addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Dialer: a.Dial, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: a.timeout(), ReadTimeout: a.timeout(), WriteTimeout: a.timeout(), PoolTimeout: a.timeout(),
		PoolSize: a.pool(), DisableIdentity: true, ReadBufferSize: a.Buffer, WriteBufferSize: a.Buffer,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// clusterOptions are the same for a cluster. Its client repeats a request after a broken connection as often as it follows a
// redirection, so that neither is allowed: the slots never move here, and the client asks for their map before its first request.
func clusterOptions(a Access) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: a.Addrs, Dialer: a.Dial, MaxRetries: -1, MaxRedirects: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: a.timeout(), ReadTimeout: a.timeout(), WriteTimeout: a.timeout(), PoolTimeout: a.timeout(),
		PoolSize: a.pool(), DisableIdentity: true, ReadBufferSize: a.Buffer, WriteBufferSize: a.Buffer,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func (a Access) pool() int {
	if a.Pool > 0 {
		return a.Pool
	}
	return poolSize
}

func (a Access) timeout() time.Duration {
	if a.Timeout > 0 {
		return a.Timeout
	}
	return defaultTimeout
}

// OpenStore opens the guarded store of a run for somebody who is not one of its clients. The returned close ends the connection.
func OpenStore(a Access, prefix string) (Store, func() error) {
	c := redis.NewClient(ClientOptions(a, a.StoreAddr))
	return RedisStore{Client: c, Prefix: StorePrefix(prefix)}, c.Close
}

// StorePrefix is what every key of the guarded store begins with, under a run's prefix.
func StorePrefix(prefix string) string { return prefix + "store:" }
