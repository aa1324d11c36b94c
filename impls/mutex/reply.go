package mutex

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// text reads a reply that is a string, or nil for a missing key.
func text(cmd *redis.Cmd) (value string, there bool, err error) {
	value, err = cmd.Text()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return value, err == nil, err
}

// expire sets the key's lease in a separate command. It ignores the reply, as the sources do: the
// grant stands even if the key has gone meanwhile.
func expire(ctx context.Context, env impls.Env) error {
	if impls.WholeSeconds(env.Lease) {
		return env.Redis().Do(ctx, "expire", env.Key, int64(env.Lease/time.Second)).Err()
	}
	return env.Redis().Do(ctx, "pexpire", env.Key, env.Lease.Milliseconds()).Err()
}

// setnx sends SETNX.
func setnx(ctx context.Context, env impls.Env, value string) (bool, error) {
	return impls.Yes(env.Redis().Do(ctx, "setnx", env.Key, value))
}

// del releases by deleting the key, whoever holds it.
func del(ctx context.Context, env impls.Env, _ hold) (bool, error) {
	return impls.Yes(env.Redis().Do(ctx, "del", env.Key))
}
