package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredigo "github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"

	"github.com/lockbench/lockbench/subject"
)

// redsyncLock is redsync over redigo, on one server.
type redsyncLock struct {
	*redsync.Mutex
	pool *redis.Pool
}

func newRedsyncLock(c subject.Config) (any, error) {
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", c.Addrs[0], redis.DialContextFunc(c.Dial))
	}}
	mutex := redsync.New(redsyncredigo.NewPool(pool)).NewMutex(c.Key, redsync.WithExpiry(c.TTL), redsync.WithRetryDelay(c.Poll), redsync.WithTries(1<<30))
	return redsyncLock{mutex, pool}, nil
}

func (l redsyncLock) Lock(ctx context.Context) error { return l.LockContext(ctx) }

func (l redsyncLock) TryLock(ctx context.Context) (bool, error) {
	err := l.TryLockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return false, nil
	}
	return err == nil, err
}

func (l redsyncLock) Unlock(ctx context.Context) error {
	ok, err := l.UnlockContext(ctx)
	if err == nil && !ok {
		err = errors.New("not held")
	}
	return err
}

func (l redsyncLock) Extend(ctx context.Context) error {
	ok, err := l.ExtendContext(ctx)
	if err == nil && !ok {
		err = errors.New("not extended")
	}
	return err
}

func (l redsyncLock) ValidUntil() time.Time { return l.Until() }
func (l redsyncLock) Token() string         { return l.Value() }
func (l redsyncLock) Close() error          { return l.pool.Close() }

func (l redsyncLock) Describe() subject.Description {
	return subject.Description{Name: "redsync-redigo"}
}
