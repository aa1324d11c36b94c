package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

var (
	acquireScript = impls.NewLeaseScript(impls.EmbeddedScript(lua, "reentrant_acquire.lua"))
	releaseScript = impls.EmbeddedScript(lua, "reentrant_release.lua")
	renewScript   = impls.NewLeaseScript(impls.EmbeddedScript(lua, "reentrant_renew.lua"))
)

// counted is the hash of the source, and timed with its timer.
var (
	counted = hashProtocol{
		acquire: func(ctx context.Context, env impls.Env, owner string) (bool, time.Duration, error) {
			ok, err := impls.Yes(acquireScript.Run(ctx, env, owner))
			return ok, 0, err
		},
		release: func(ctx context.Context, env impls.Env, owner string) (released, error) {
			return found(releaseScript.Run(ctx, env.Redis(), []string{env.Key}, owner))
		},
	}
	timed = hashProtocol{
		acquire: counted.acquire, release: counted.release, watched: true,
		renew: func(ctx context.Context, env impls.Env, owner string) (bool, error) {
			return impls.Yes(renewScript.Run(ctx, env, owner))
		},
	}
)

// found reads the reply of a release: nil, 0 or 1.
func found(cmd *redis.Cmd) (released, error) {
	n, err := cmd.Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return foreign, nil
	case err != nil:
		return foreign, err
	case n == 1:
		return outer, nil
	}
	return inner, nil
}
