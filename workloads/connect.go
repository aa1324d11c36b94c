package workloads

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
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

// Access has what one client uses of its world: servers, time, and faults.
type Access struct {
	Addrs     []string // one IP literal and port per node of the lock, or per sentinel
	StoreAddr string   // server of the guarded store
	// Dial opens a connection of this client. All of its traffic uses such connections.
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	Clock    impls.Clock
	Timeline func() int64
	At       func(ctx context.Context, m history.Moment, key string) error
	Record   Recorder
	// Seed determines the client's tokens, jitter and choices.
	Seed [32]byte
	// Timeout bounds the wait for a reply; 0 means three seconds.
	Timeout time.Duration
	// Buffer is the size in bytes of each connection's buffers; 0 means the Redis client's default
	// of 32 KiB each way, which is slow for a world that makes thousands of clients per second.
	Buffer int
	// Pool bounds the client's connections to one node; 0 means 64.
	Pool int
}

// Setup has what the clients of a run share, and the client's index.
type Setup struct {
	Variant impls.Variant
	Config  Config
	Index   int
	Owner   string        // "" means the client's name
	Prefix  string        // of every key of the run
	Poll    time.Duration // interval of waiters that poll
	Permits int
	// Replicas is how many replicas the primary has; 0 means 1.
	Replicas int
}

// Connect makes a client with connections of its own. The returned close ends its locks and its
// connections.
func Connect(a Access, s Setup) (*Client, func() error) {
	name := ClientName(s.Index)
	nodes, closeNodes := ConnectNodes(a, s.Variant.Topology)
	storage := redis.NewClient(ClientOptions(a, a.StoreAddr))
	source := rand.NewChaCha8(a.Seed)
	a.Seed[0] ^= 0x55 // a lock and a workload draw from separate streams
	c := &Client{
		Name: name, Index: s.Index, config: s.Config, leased: !s.Variant.Traits.NoLease, fenced: s.Variant.Traits.Fenced,
		store: redisStore{Client: storage, Prefix: StorePrefix(s.Prefix), Loose: s.Variant.Planted != nil && s.Variant.Planted.LooseStore},
		clock: a.Clock, timeline: a.Timeline, record: a.Record, at: a.At, handles: map[string]*handle{},
		rand: rand.New(rand.NewChaCha8(a.Seed)),
	}
	shared, master := &impls.Shared{}, ""
	if s.Variant.Topology == impls.Sentinel {
		master = impls.MasterName
	}
	c.open = func(key string, onRenew func(impls.Renewal)) (impls.Lock, error) {
		return s.Variant.New(impls.Env{
			Owner: cmp.Or(s.Owner, name), Lease: s.Config.Lease, Poll: s.Poll, Permits: s.Permits, Replicas: s.Replicas, Addrs: a.Addrs, Master: master, Dial: a.Dial, Clock: a.Clock, Rand: source,
			Key: s.Prefix + key, Nodes: nodes, OnRenew: onRenew, Shared: shared,
		})
	}
	return c, func() error {
		var errs []error
		for _, h := range c.handles {
			h.unwatch()
			errs = append(errs, h.lock.Close())
		}
		return errors.Join(append(errs, closeNodes(), storage.Close())...)
	}
}

// ClientName returns the name of the client with an index: c1, c2, …
func ClientName(index int) string { return "c" + strconv.Itoa(index+1) }

// ClientSeed derives a separate seed for each client from the run's.
func ClientSeed(seed uint64, index int) [32]byte {
	var s [32]byte
	binary.LittleEndian.PutUint64(s[:], seed)
	binary.LittleEndian.PutUint64(s[8:], uint64(index)+1)
	return s
}

// ClientIndex returns the index of the client with a name; -1 for a name that ClientName does not
// return.
func ClientIndex(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	if err != nil || n < 1 || ClientName(n-1) != name {
		return -1
	}
	return n - 1
}

// ConnectNodes returns a client's Redis clients, one per node (a cluster, and a primary behind
// sentinels, are one), and what closes them.
func ConnectNodes(a Access, t impls.Topology) ([]redis.UniversalClient, func() error) {
	switch t {
	case impls.Cluster:
		c := redis.NewClusterClient(options(a, a.Addrs...).Cluster())
		return []redis.UniversalClient{c}, c.Close
	case impls.Sentinel:
		o := options(a, a.Addrs...)
		o.MasterName = impls.MasterName
		c := redis.NewFailoverClient(o.Failover())
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

// poolSize exceeds the connections that a client uses at once: a wait for a pooled connection would
// distort the lock's latency.
const poolSize = 64

const defaultTimeout = 3 * time.Second

// ClientOptions returns options without retries, which turn a lost reply into "busy", and without
// the handshake for notifications.
func ClientOptions(a Access, addr string) *redis.Options { return options(a, addr).Simple() }

// options returns the options of a client of one node or of a cluster. It disables redirections
// too, because the cluster client retries a broken connection as often as it follows a redirection;
// the slots never move, and the client fetches their map before its first request.
func options(a Access, addrs ...string) *redis.UniversalOptions {
	timeout := cmp.Or(a.Timeout, defaultTimeout)
	return &redis.UniversalOptions{
		Addrs: addrs, Dialer: a.Dial, MaxRetries: -1, MaxRedirects: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		PoolSize: cmp.Or(a.Pool, poolSize), DisableIdentity: true, ReadBufferSize: a.Buffer, WriteBufferSize: a.Buffer,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// OpenStore opens the guarded store of a run outside its clients, and returns a function that
// closes the connection.
func OpenStore(a Access, prefix string) (Store, func() error) {
	c := redis.NewClient(ClientOptions(a, a.StoreAddr))
	return redisStore{Client: c, Prefix: StorePrefix(prefix)}, c.Close
}

// IsStore reports whether a key of a run is the guarded store's.
func IsStore(key string) bool { return strings.Contains(key, StorePrefix("")) }

// StorePrefix returns the prefix of the guarded store's keys, under a run's prefix.
func StorePrefix(prefix string) string { return prefix + "store:" }
