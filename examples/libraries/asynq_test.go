package libraries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/locktest"
	"github.com/lockbench/lockbench/servers"
)

// uniqueTask is a unique task of asynq as a lock: it is enqueued while no other of its kind is, and the lock is given back by its deletion.
type uniqueTask struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	kind, id  string
	ttl       time.Duration
}

func newUniqueTask(c locktest.Config) (any, error) {
	return &uniqueTask{client: asynq.NewClientFromRedisClient(c.Redis), inspector: asynq.NewInspectorFromRedisClient(c.Redis), kind: c.Key, ttl: c.TTL}, nil
}

const queue = "q"

func (l *uniqueTask) TryLock(ctx context.Context) (bool, error) {
	info, err := l.client.EnqueueContext(ctx, asynq.NewTask(l.kind, nil), asynq.Unique(l.ttl), asynq.Queue(queue))
	if errors.Is(err, asynq.ErrDuplicateTask) {
		return false, nil
	}
	if err == nil {
		l.id = info.ID
	}
	return err == nil, err
}

func (l *uniqueTask) Unlock(context.Context) error { return l.inspector.DeleteTask(queue, l.id) }

// What asynq has beside its lock breaks three rules: the set of its queues stays (clean) and lies in a slot of its own (one-slot), and its
// tasks have no end, which is what odd-leases looks at; leases below a second are refused.
func TestAsynqUnique(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newUniqueTask, locktest.OnlyReal(), locktest.RealLease(time.Second), locktest.Breaks("odd-leases", "clean", "one-slot"))
}

// A task that is to be unique for 1.9 s is so for one: the lease is cut to whole seconds (internal/rdb/rdb.go, EnqueueUnique).
func TestAsynqCutsLeases(t *testing.T) {
	t.Parallel()
	lock, err := newUniqueTask(locktest.Config{Redis: server(t), Key: "job", TTL: 1900 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l := lock.(*uniqueTask)
	if ok, err := l.TryLock(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	time.Sleep(1300 * time.Millisecond)
	if ok, err := l.TryLock(t.Context()); !ok || err != nil {
		t.Errorf("a second task after 1.3 s of 1.9 s: %v, %v; asynq cuts no longer: strike the finding", ok, err)
	}
}

// server starts a redis-server for one test.
func server(t *testing.T) *redis.Client {
	t.Helper()
	d, err := servers.NewProcess(servers.ProcessOptions{}).Start(t.Context(), servers.Spec{})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { d.Close() })
	c := redis.NewClient(&redis.Options{Addr: d.Addr(0)})
	t.Cleanup(func() { c.Close() })
	return c
}
