package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kvtools/redis"
	"github.com/kvtools/valkeyrie/store"

	"github.com/lockbench/lockbench/subject"
)

// kvtoolsLock is the lock of kvtools/redis, the successor of docker/libkv and abronan/valkeyrie. It
// has no try, renews until the context of the acquire ends, and tells of a loss by a channel.
type kvtoolsLock struct {
	cfg   subject.Config
	codec redis.Codec
	store *redis.Store
	lock  store.Locker
	lost  <-chan struct{}
	end   context.CancelFunc
}

// newKvtoolsLock takes the codec of redis.New.
func newKvtoolsLock(c subject.Config) (any, error) {
	return &kvtoolsLock{cfg: c, codec: redis.RawCodec{}}, nil
}

func newKvtoolsJSONLock(c subject.Config) (any, error) {
	return &kvtoolsLock{cfg: c, codec: redis.JSONCodec{}}, nil
}

func (l *kvtoolsLock) Lock(ctx context.Context) (err error) {
	if l.store == nil {
		if l.store, err = redis.NewWithCodec(context.Background(), l.cfg.Addrs[:1], nil, l.codec); err != nil {
			return err
		}
	}
	value := fmt.Appendf(nil, "%s-%d", l.cfg.Owner, time.Now().UnixNano())
	if l.lock, err = l.store.NewLock(ctx, l.cfg.Key, &store.LockOptions{Value: value, TTL: l.cfg.TTL}); err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, end)
	lost, err := l.lock.Lock(life)
	if err != nil || !detach() {
		end()
		return errors.Join(err, ctx.Err())
	}
	l.lost, l.end = lost, end
	return nil
}

func (l *kvtoolsLock) Lost() <-chan struct{} { return l.lost }

func (l *kvtoolsLock) Unlock(ctx context.Context) error {
	defer l.end()
	return l.lock.Unlock(ctx)
}

func (l *kvtoolsLock) Close() error {
	if l.store == nil {
		return nil
	}
	return l.store.Close()
}

func (l *kvtoolsLock) Describe() subject.Description {
	return subject.Description{Name: "kvtools", Can: []string{"renew", "wakeups"}}
}
