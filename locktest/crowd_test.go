package locktest

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// crowdLock is a lock that asks for more of its Redis client at once than the client may have
// connections: the client keeps the timers with which it waits, for whoever waits next in the
// process.
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
	return around(func(l *lock) any { return turnLock{l, all} })
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
