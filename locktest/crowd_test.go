package locktest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// crowdLock is a lock that asks for more of its Redis client at once than the client may have connections: the client keeps the timers with which it
// waits, for whoever waits next in the process.
type crowdLock struct {
	*lock
	mine *redis.Client // nil: the kit's
}

func newCrowd(own bool) factory {
	return func(c Config) (any, error) {
		l := crowdLock{lock: &lock{Config: c, name: itself}}
		if own {
			o := clientOptions(c.Addrs[0], c.Dial)
			o.PoolSize = 1
			l.mine = redis.NewClient(o)
			l.Redis = l.mine
		}
		return l, nil
	}
}

func (l crowdLock) TryLock(ctx context.Context) (bool, error) {
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { l.Redis.Exists(ctx, l.key()) })
	}
	all.Wait()
	return l.lock.TryLock(ctx)
}

func (l crowdLock) Close() error {
	if l.mine != nil {
		return l.mine.Close()
	}
	return nil
}

// TestTimersOfOneBubbleStayThere: what a library keeps for its next user in the process is not used by the next rule.
func TestTimersOfOneBubbleStayThere(t *testing.T) {
	for name, own := range map[string]bool{"the kit's client": false, "a client of the lock's own": true} {
		t.Run(name, func(t *testing.T) {
			s := supervised(t, newCrowd(own), virtual, Only("excludes", "late-release", "lease-ends", "waits", "released-at-once", "reuse"))
			if s == nil {
				return // a worker
			}
			if s.fatal != "" {
				t.Fatal(s.fatal)
			}
			passes(t, s.results)
		})
	}
}

// TestNobodyWaitsForAConnection: bubbles that run at the same time, as those of parallel tests in this process do, would share what a wait leaves.
func TestNobodyWaitsForAConnection(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			passes(t, checked(t, newCrowd(false), virtual, Only("excludes", "released-at-once", "reuse")))
		})
	}
}

// turns let the goroutines of a process ask for a lock of a name one after the other.
type turns struct {
	mu     sync.Mutex // clients
	byName map[string]chan *lock
}

func (t *turns) of(name string) chan *lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName[name] == nil {
		t.byName[name] = make(chan *lock, 1)
	}
	return t.byName[name]
}

// turnLock asks the server when it is its turn in the process.
type turnLock struct {
	*lock
	all *turns
}

func newTurns() factory {
	all := &turns{byName: map[string]chan *lock{}}
	return func(c Config) (any, error) { return turnLock{&lock{Config: c, name: itself}, all}, nil }
}

func (l turnLock) TryLock(ctx context.Context) (bool, error) {
	turn := l.all.of(l.Key)
	select {
	case turn <- l.lock:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-turn }()
	return l.lock.TryLock(ctx)
}

// TestAChannelForAllLocksIsNoFault: a lock may keep a channel for each name, which the next rule finds although it was made in another bubble.
func TestAChannelForAllLocksIsNoFault(t *testing.T) {
	s := supervised(t, newTurns(), virtual, Only("excludes", "late-release", "lease-ends", "released-at-once", "reuse"))
	if s == nil {
		return // a worker
	}
	if s.fatal != "" {
		t.Fatal(s.fatal)
	}
	passes(t, s.results)
	for name, res := range s.results {
		if res.Skip != "" || res.realTime {
			t.Errorf("%s was not checked in virtual time: %+v", name, res)
		}
	}
}
