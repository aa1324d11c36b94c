package libraries

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/locktest"
	"github.com/lockbench/lockbench/servers"
)

// The set of asynq's queues stays (clean), leases are cut to whole seconds (odd-leases), and DeleteTask takes no context (no-answer). That tasks themselves have no end is no matter: what
// keeps the others out is a key that has one.
func TestAsynqUnique(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newUniqueTask, locktest.OnlyReal(), locktest.RealLease(time.Second), locktest.Breaks("odd-leases", "clean", "no-answer"))
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

func TestAsynqSchedules(t *testing.T) {
	t.Parallel()
	locktest.Explore(t, newUniqueTask, locktest.Schedules(300))
}
