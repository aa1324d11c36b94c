package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

var (
	redissonAcquireScript = impls.EmbeddedScript(lua, "redisson_acquire.lua")
	redissonReleaseScript = impls.EmbeddedScript(lua, "redisson_release.lua")
	redissonRenewScript   = impls.EmbeddedScript(lua, "redisson_renew.lua")
)

// redisson returns how long the current hold may last with a refusal, and publishes releases.
var redisson = hashProtocol{
	acquire: redissonAcquire, release: redissonRelease, renew: redissonRenew, watched: true, woken: true,
}

func redissonAcquire(ctx context.Context, env impls.Env, owner string) (bool, time.Duration, error) {
	left, err := redissonAcquireScript.Run(ctx, env.Redis(), []string{env.Key}, owner, env.Lease.Milliseconds()).Int64()
	if errors.Is(err, redis.Nil) {
		return true, 0, nil
	}
	return false, time.Duration(left) * time.Millisecond, err
}

func redissonRelease(ctx context.Context, env impls.Env, owner string) (released, error) {
	keys := []string{env.Key, channel(env)}
	return found(redissonReleaseScript.Run(ctx, env.Redis(), keys, owner, env.Lease.Milliseconds()))
}

func redissonRenew(ctx context.Context, env impls.Env, owner string) (bool, error) {
	return impls.Yes(redissonRenewScript.Run(ctx, env.Redis(), []string{env.Key}, owner, env.Lease.Milliseconds()))
}

// channel returns the channel for the releases of a lock.
func channel(env impls.Env) string { return impls.Derived(env.Key, ":released") }

// acquireWoken makes an attempt and, if refused, subscribes to releases and waits at most as long
// as the current hold may last. It wakes when the subscription begins, so that an earlier release
// is not missed.
func (l *hashLock) acquireWoken(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	if ctx.Err() != nil {
		return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrCancelled, ctx.Err())
	}
	g, left, err := l.ask(ctx, mode)
	if err == nil || !errors.Is(err, impls.ErrBusy) {
		return g, err
	}
	ear := impls.Listen(ctx, l.env.Redis(), l.env.Clock, channel(l.env), l.env.PollInterval())
	defer ear.Close()
	for {
		// The reply for a hold that ends within this millisecond is 0.
		if err := ear.Sleep(ctx, max(left, time.Millisecond)); err != nil {
			return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrCancelled, err)
		}
		g, left, err = l.ask(ctx, mode)
		if err == nil || !errors.Is(err, impls.ErrBusy) {
			return g, err
		}
	}
}
