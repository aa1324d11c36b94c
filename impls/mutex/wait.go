package mutex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

var errUnconfirmed = errors.New("too few replicas confirmed")

// waiting is token, granted only if WAIT confirms enough replicas, and withdrawn otherwise. all waits
// for all replicas, and grants nothing while one is away. Otherwise one is enough: a failover may
// promote one that has not confirmed.
func waiting(all bool) protocol {
	// confirm waits until enough replicas have this connection's writes, before validUntil.
	confirm := func(ctx context.Context, conn *redis.Conn, env impls.Env, validUntil time.Time) error {
		want := 1
		if all {
			want = max(env.Replicas, 1)
		}
		limit := cmp.Or(env.NodeTimeout, max(env.Lease/4, time.Millisecond))
		n, err := conn.Wait(ctx, want, limit).Result()
		switch {
		case err != nil:
			return err
		case n < int64(want):
			return fmt.Errorf("%w: %d of %d", errUnconfirmed, n, want)
		case !env.Clock.Now().Before(validUntil):
			return fmt.Errorf("%w: the lease was over", errUnconfirmed)
		}
		return nil
	}
	return protocol{
		acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
			h, err := newHold(env)
			if err != nil {
				return hold{}, false, err
			}
			conn, err := stick(ctx, env)
			if err != nil {
				return hold{}, false, err
			}
			defer conn.Close()
			h.grant.ValidUntil = env.Clock.Now().Add(env.Lease)
			ok, err := impls.Yes(conn.Do(ctx, "set", env.Key, h.value, "nx", "px", env.Lease.Milliseconds()))
			if err != nil || !ok {
				return hold{}, false, err
			}
			if err := confirm(ctx, conn, env, h.grant.ValidUntil); err != nil {
				return hold{}, false, undo(ctx, env, h, err)
			}
			return h, true, nil
		},
		release: releaseToken,
		// If the replicas do not confirm, the outcome is unknown.
		extend: func(ctx context.Context, env impls.Env, h hold) (impls.Grant, bool, error) {
			conn, err := stick(ctx, env)
			if err != nil {
				return impls.Grant{}, false, err
			}
			defer conn.Close()
			g := h.grant
			g.ValidUntil = env.Clock.Now().Add(env.Lease)
			ok, err := impls.Yes(tokenExtendScript.Run(ctx, conn, []string{env.Key}, h.value, env.Lease.Milliseconds()))
			if err != nil || !ok {
				return impls.Grant{}, false, err
			}
			return g, true, impls.Unsettled(confirm(ctx, conn, env, g.ValidUntil))
		},
	}
}

// stick returns a connection to the server that has the key: WAIT covers only the writes of its own
// connection.
func stick(ctx context.Context, env impls.Env) (*redis.Conn, error) {
	c := env.Redis()
	if cluster, ok := c.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, env.Key)
		if err != nil {
			return nil, err
		}
		c = master
	}
	one, ok := c.(interface{ Conn() *redis.Conn })
	if !ok {
		return nil, fmt.Errorf("%w: WAIT needs a client of one server", impls.ErrUnsupported)
	}
	return one.Conn(), nil
}

// undo deletes the key, even if the caller's context has ended. If that succeeds the failed call
// had no effect; otherwise the key may stay until its lease ends.
func undo(ctx context.Context, env impls.Env, h hold, cause error) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), env.Lease)
	defer cancel()
	if _, err := releaseToken(bounded, env, h); err != nil {
		return impls.Unsettled(cause)
	}
	return fmt.Errorf("%w: %w", impls.ErrUnavailable, cause)
}
