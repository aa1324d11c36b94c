package locktest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// pooledLock is renewed by a goroutine that it shares with the other locks of its client.
type pooledLock struct {
	*lock
	pool *renewer
}

// newPooled returns a factory whose clients have a renewer each, however many locks they make.
func newPooled(hasty, brittle bool) factory {
	pool := onePerClient(func(c Config) *renewer {
		return &renewer{holds: map[*pooledLock]string{}, every: c.TTL / 3, hasty: hasty, brittle: brittle}
	})
	return func(c Config) (any, error) {
		return &pooledLock{lock: &lock{Config: c, name: itself}, pool: pool(c)}, nil
	}
}

// onePerClient returns a function that returns what the locks of a client share, made once for each
// client.
func onePerClient[T any](make func(Config) *T) func(Config) *T {
	var mu sync.Mutex // rules run concurrently
	of := map[redis.UniversalClient]*T{}
	return func(c Config) *T {
		mu.Lock()
		defer mu.Unlock()
		if of[c.Redis] == nil {
			of[c.Redis] = make(c)
		}
		return of[c.Redis]
	}
}

func (l *pooledLock) TryLock(ctx context.Context) (bool, error) {
	ok, err := l.lock.TryLock(ctx)
	if ok {
		l.pool.add(l, l.token)
	}
	return ok, err
}

func (l *pooledLock) Unlock(ctx context.Context) error {
	l.pool.drop(l)
	return l.lock.Unlock(ctx)
}

func (l *pooledLock) Close() error {
	l.pool.drop(l)
	return nil
}

// renewer renews the holds of a client while there are any.
type renewer struct {
	every time.Duration

	mu    sync.Mutex // the client and the goroutine
	holds map[*pooledLock]string
	stop  context.CancelFunc // nil: nothing runs

	hasty   bool // bug: the first release stops it
	brittle bool // bug: the first loss stops it
	forever bool // legal, though it stays: nothing stops it
}

// newForever returns a factory all of whose locks are renewed by one goroutine, which never ends.
func newForever() factory {
	all := &renewer{holds: map[*pooledLock]string{}, forever: true}
	return func(c Config) (any, error) {
		all.every = c.TTL / 3
		return &pooledLock{lock: &lock{Config: c, name: itself}, pool: all}, nil
	}
}

func (r *renewer) add(l *pooledLock, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[l] = token
	if r.stop == nil {
		life, stop := context.WithCancel(context.Background())
		r.stop = stop
		go r.run(life)
	}
}

func (r *renewer) drop(l *pooledLock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.holds[l]; !ok {
		return
	}
	delete(r.holds, l)
	if r.stop != nil && !r.forever && (len(r.holds) == 0 || r.hasty) {
		r.stop()
		r.stop = nil
	}
}

func (r *renewer) run(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-time.After(r.every):
		}
		r.mu.Lock()
		holds := maps.Clone(r.holds)
		r.mu.Unlock()
		for _, l := range slices.SortedFunc(maps.Keys(holds), func(a, b *pooledLock) int { return len(a.Key) - len(b.Key) }) {
			if err := l.cas(life, luaExtend, holds[l], l.TTL.Milliseconds()); errors.Is(err, errGone) && life.Err() == nil {
				r.forget(l, holds[l])
				if r.brittle {
					return
				}
			}
		}
	}
}

// forget ends the renewal of a hold that is gone, unless the lock has another by now.
func (r *renewer) forget(l *pooledLock, token string) {
	r.mu.Lock()
	same := r.holds[l] == token
	r.mu.Unlock()
	if same {
		r.drop(l)
	}
}

// listeners are the subscriptions of one client's waiters.
type listeners struct {
	mu  sync.Mutex // waiters
	all []*redis.PubSub

	hasty bool // bug: who leaves first closes all
}

func (s *listeners) add(sub *redis.PubSub) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, sub)
	}
}

// leave closes a waiter's subscription.
func (s *listeners) leave(sub *redis.PubSub) {
	gone := []*redis.PubSub{sub}
	if s != nil {
		s.mu.Lock()
		if s.hasty {
			gone = append(gone, s.all...)
		}
		s.all = slices.DeleteFunc(s.all, func(o *redis.PubSub) bool { return slices.Contains(gone, o) })
		s.mu.Unlock()
	}
	for _, o := range gone {
		_ = o.Close()
	}
}

// listeningLock closes its subscriptions together with those of its client's other locks, or not.
type listeningLock struct {
	*channelLock
	subs *listeners
}

// newListening returns a factory whose clients have one list of subscriptions each.
func newListening(hasty bool) factory {
	subs := onePerClient(func(Config) *listeners { return &listeners{hasty: hasty} })
	return func(c Config) (any, error) { return listeningLock{&channelLock{owned: owned{Config: c}}, subs(c)}, nil }
}

func (l listeningLock) Lock(ctx context.Context) error {
	return l.listens(ctx, []string{":free"}, l.TTL, false, l.subs, l.TryLock)
}
