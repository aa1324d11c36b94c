package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/locktest"
)

// myLock is a user's own lock. It compares nothing when it unlocks.
type myLock struct {
	redis redis.UniversalClient
	key   string
	lease time.Duration
}

var errTaken = errors.New("taken")

func (l myLock) Lock(ctx context.Context) error {
	for {
		ok, err := l.redis.SetNX(ctx, l.key, "1", l.lease).Result()
		if ok || err != nil {
			return err
		}
		if err := (impls.SystemClock{}).Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

func (l myLock) Unlock(ctx context.Context) error {
	if n, err := l.redis.Del(ctx, l.key).Result(); n == 1 || err != nil {
		return err
	}
	return errTaken
}

// Ten lines put a lock of one's own before the kit. This one ends other clients' holds, which the kit must see.
func TestMyLock(t *testing.T) {
	locktest.Run(t, locktest.Plain(func(env impls.Env) (locktest.Locker, error) {
		return myLock{env.Redis(), env.Key, env.Lease}, nil
	}), locktest.Breaks("late-release", "lost-release"))
}

// Example shows the test function that judges a lock.
func Example() {
	test := func(t *testing.T) {
		locktest.Run(t, locktest.Plain(func(env impls.Env) (locktest.Locker, error) {
			return myLock{env.Redis(), env.Key, env.Lease}, nil
		}), locktest.Can(impls.Traits{}), locktest.OnRedisServer())
	}
	_ = test
	// Output:
}
