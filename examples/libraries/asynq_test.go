package main

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/locktest"
	"github.com/lockbench/lockbench/servers"
)

// TestAsynqUnique: the set of asynq's queues stays (clean), leases are truncated to whole seconds
// (odd-leases), and DeleteTask takes no context (no-answer). Tasks never expire, but the key that
// refuses others does.
func TestAsynqUnique(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newUniqueTask, locktest.OnlyReal(), locktest.RealLease(time.Second), locktest.Breaks("odd-leases", "clean", "no-answer"))
}

// TestAsynqCutsLeases: a task with a lease of 1.9 s is unique for one: EnqueueUnique
// (internal/rdb/rdb.go) truncates the lease to whole seconds.
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
		t.Errorf("a second task after 1.3 s of 1.9 s: %v, %v; asynq no longer truncates leases: remove the finding", ok, err)
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
