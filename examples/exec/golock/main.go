// Command golock serves a Go lock as a child of lockbench: lockbench run --exec ./golock
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/subject"
)

// lock acquires with SET NX PX and releases with a script that compares the token.
type lock struct {
	redis redis.UniversalClient
	key   string
	owner string
	lease time.Duration
	token string
}

var errNotHeld = errors.New("not held")

func (l *lock) TryLock(ctx context.Context) (bool, error) {
	token := l.owner + time.Now().String()
	ok, err := l.redis.SetNX(ctx, l.key, token, l.lease).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (l *lock) Unlock(ctx context.Context) error {
	n, err := release.Run(ctx, l.redis, []string{l.key}, l.token).Int()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return err
}

func newLock(c subject.Config) (any, error) {
	return &lock{redis: c.Redis, key: c.Key, owner: c.Owner, lease: c.TTL}, nil
}

func main() {
	if err := subject.Serve(newLock); err != nil {
		log.Fatal(err)
	}
}
