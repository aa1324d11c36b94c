package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

var (
	redissonAcquireScript = impls.EmbeddedScript(lua, "redisson_acquire.lua")
	redissonReleaseScript = impls.EmbeddedScript(lua, "redisson_release.lua")
	redissonRenewScript   = impls.EmbeddedScript(lua, "redisson_renew.lua")
)

// redisson returns how long the current hold may last with a refusal, and publishes releases.
var redisson = hashProtocol{
	acquire: func(ctx context.Context, env impls.Env, owner string) (bool, time.Duration, error) {
		left, err := redissonAcquireScript.Run(ctx, env.Redis(), []string{env.Key}, owner, env.Lease.Milliseconds()).Int64()
		if errors.Is(err, redis.Nil) {
			return true, 0, nil
		}
		return false, time.Duration(left) * time.Millisecond, err
	},
	release: func(ctx context.Context, env impls.Env, owner string) (released, error) {
		keys := []string{env.Key, channel(env)}
		return found(redissonReleaseScript.Run(ctx, env.Redis(), keys, owner, env.Lease.Milliseconds()))
	},
	renew: func(ctx context.Context, env impls.Env, owner string) (bool, error) {
		return impls.Yes(redissonRenewScript.Run(ctx, env.Redis(), []string{env.Key}, owner, env.Lease.Milliseconds()))
	},
	watched: true, woken: true,
}

// channel returns the channel for the releases of a lock.
func channel(env impls.Env) string { return impls.Derived(env.Key, ":released") }
