package main

import (
	"context"
	"errors"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/lockbench/lockbench/subject"
)

// goZeroLock is go-zero's RedisLock, whose leases are in seconds.
type goZeroLock struct{ *redis.RedisLock }

func newGoZeroLock(c subject.Config) (any, error) {
	logx.Disable()
	store, err := redis.NewRedis(redis.RedisConf{Host: c.Addrs[0], Type: redis.NodeType, NonBlock: true})
	if err != nil {
		return nil, err
	}
	lock := redis.NewRedisLock(store, c.Key)
	lock.SetExpire(int(c.TTL / time.Second))
	return goZeroLock{lock}, nil
}

func (l goZeroLock) TryLock(ctx context.Context) (bool, error) { return l.AcquireCtx(ctx) }

func (l goZeroLock) Unlock(ctx context.Context) error {
	ok, err := l.ReleaseCtx(ctx)
	if err == nil && !ok {
		err = errors.New("not held")
	}
	return err
}

// goZeroKeeps returns how long the server keeps a lock of go-zero: whole seconds, plus half a
// second (redislock.go:19, 63).
func goZeroKeeps(asked time.Duration) time.Duration {
	return asked.Truncate(time.Second) + 500*time.Millisecond
}

func (l goZeroLock) Describe() subject.Description { return subject.Description{Name: "go-zero"} }
