package peers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// lease is far longer than anything that is measured: no lease ends, and no watchdog renews, while the clock runs.
const lease = 30 * time.Second

// subject is one lock of the table.
type subject struct {
	name string
	open func(env impls.Env) (impls.Lock, error)
	// waits: an acquire waits until it is granted. The others are left out where clients compete.
	waits bool
	ours  bool
}

// bareName is the subject to which all others are compared.
const bareName = "bare SET NX, EVALSHA"

// subjects are the rows of the table, the bare loop first.
func subjects(b *testing.B) []subject {
	b.Helper()
	all := []subject{{name: bareName, open: openBare}}
	for _, name := range []string{"token", "fenced", "redisson", "fair", "rw-lease", "semaphore"} {
		all = append(all, subject{name: name, open: variant(b, name), waits: true, ours: true})
	}
	for _, name := range []string{"redsync", "redsync-normalised", "redislock", "redislock-normalised", "rueidislock", "rueidislock-normalised"} {
		all = append(all, subject{name: name, open: variant(b, name), waits: name != "redislock"})
	}
	return all
}

func variant(b *testing.B, name string) func(impls.Env) (impls.Lock, error) {
	b.Helper()
	v, ok := catalogue.Find(name)
	if !ok {
		b.Fatalf("no lock %q", name)
	}
	return v.New
}

// client is one client of a subject, with connections of its own.
type client struct {
	impls.Lock
	redis *redis.Client
	wires *meter
}

// connect opens a client on a key.
func connect(b *testing.B, s subject, addr, key string, n int) *client {
	b.Helper()
	m := &meter{}
	c := &client{wires: m, redis: redis.NewClient(&redis.Options{
		Addr: addr, Dialer: m.dial, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true, PoolSize: 4,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})}
	owner := fmt.Sprint("c", n)
	l, err := s.open(impls.Env{
		Key: key + ":" + s.name, Owner: owner, Lease: lease, Clock: impls.SystemClock{}, Shared: &impls.Shared{},
		Rand:  rand.NewChaCha8(sha256.Sum256([]byte(key + s.name + owner))),
		Nodes: []redis.UniversalClient{c.redis}, Addrs: []string{addr}, Dial: m.dial,
	})
	if err != nil {
		b.Fatalf("%s: %v", s.name, err)
	}
	c.Lock = l
	b.Cleanup(c.close)
	return c
}

func (c *client) close() {
	_ = c.Close()
	_ = c.redis.Close()
}

// sweep deletes what cancelled attempts may have left. It does not flush: a server that tells its clients that everything is
// invalid sets rueidislock's waiters to asking without a pause.
func sweep(b *testing.B, admin *redis.Client) {
	b.Helper()
	keys, err := admin.Keys(b.Context(), "*").Result()
	if err == nil && len(keys) > 0 {
		err = admin.Del(b.Context(), keys...).Err()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// pair acquires and releases.
func (c *client) pair(ctx context.Context) error {
	if _, err := c.Acquire(ctx, history.Exclusive); err != nil {
		return err
	}
	return c.Release(ctx)
}

// bare is what a token lock comes down to: no handle, no contract, no classification of errors.
type bare struct {
	impls.Lock // what is not needed
	redis      redis.UniversalClient
	rand       io.Reader
	key, token string
}

var bareRelease = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

func openBare(env impls.Env) (impls.Lock, error) {
	return &bare{redis: env.Redis(), rand: env.Rand, key: env.Key}, nil
}

// Acquire sends SET NX PX.
func (l *bare) Acquire(ctx context.Context, _ history.Mode) (g impls.Grant, err error) {
	if l.token, err = impls.NewToken(l.rand); err != nil {
		return g, err
	}
	return g, l.redis.SetArgs(ctx, l.key, l.token, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
}

// Release sends EVALSHA.
func (l *bare) Release(ctx context.Context) error {
	return bareRelease.Run(ctx, l.redis, []string{l.key}, l.token).Err()
}

// Close has nothing to end.
func (l *bare) Close() error { return nil }
