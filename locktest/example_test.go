package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/locktest"
)

// myLock is a user's own lock. Its Unlock compares nothing.
type myLock struct {
	redis redis.UniversalClient
	key   string
	lease time.Duration
}

func (l myLock) TryLock(ctx context.Context) (bool, error) {
	return l.redis.SetNX(ctx, l.key, "1", l.lease).Result()
}

var errTaken = errors.New("taken")

func (l myLock) Unlock(ctx context.Context) error {
	if n, err := l.redis.Del(ctx, l.key).Result(); n == 1 || err != nil {
		return err
	}
	return errTaken
}

func newMyLock(c locktest.Config) (any, error) { return myLock{c.Redis, c.Key, c.TTL}, nil }

// TestMyLock runs the kit on a user's lock. This one ends other clients' holds, which the kit must
// detect.
func TestMyLock(t *testing.T) {
	locktest.Run(t, newMyLock, locktest.Breaks("release-needs-a-hold", "release-once", "late-release", "lost-release", "loss-returns", "reuse"))
}
