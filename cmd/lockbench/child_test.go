package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// simpleLock is what somebody's own lock looks like: SET NX PX and a script that compares.
type simpleLock struct {
	redis   redis.UniversalClient
	key     string
	token   string
	ttl     time.Duration
	release *redis.Script
}

const (
	compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	deleteWhatever   = `return redis.call('del', KEYS[1])`
)

// lockChild is a program whose lock releases with a script.
func lockChild(release string) func() {
	return func() {
		err := subject.Serve(func(c subject.Config) (any, error) {
			return &simpleLock{redis: c.Redis, key: c.Key, ttl: c.TTL, release: redis.NewScript(release)}, nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func (l *simpleLock) TryLock(ctx context.Context) (bool, error) {
	token := rand.Text()
	ok, err := l.redis.SetNX(ctx, l.key, token, l.ttl).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

func (l *simpleLock) Unlock(ctx context.Context) error {
	n, err := l.release.Run(ctx, l.redis, []string{l.key}, l.token).Int()
	if err == nil && n == 0 {
		return impls.ErrLost
	}
	return err
}

func (l *simpleLock) Token() string { return l.token }
