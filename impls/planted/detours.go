package planted

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// expireApart takes SET NX with a lease apart: SETNX first, and the lease in a command of its own.
func expireApart(_ impls.Env, next redis.UniversalClient) redis.UniversalClient {
	return intercepting{UniversalClient: next, do: func(ctx context.Context, args []any) *redis.Cmd {
		if args[0] != "set" || !slices.Contains(args, any("nx")) {
			return nil
		}
		set := next.Do(ctx, "setnx", args[1], args[2])
		if n, err := set.Int(); err != nil || n == 0 {
			return set
		}
		unit := "pexpire"
		at := slices.Index(args, any("px"))
		if at < 0 {
			unit, at = "expire", slices.Index(args, any("ex"))
		}
		if err := next.Do(ctx, unit, args[1], args[at+1]).Err(); err != nil {
			set.SetErr(impls.Unsettled(err))
		}
		return set
	}}
}

// wakeEarly publishes the release in a command of its own, a millisecond before the script that
// releases and that publishes nothing any more. The script's third argument is the channel.
func wakeEarly(release string) func(impls.Env, redis.UniversalClient) redis.UniversalClient {
	return func(env impls.Env, next redis.UniversalClient) redis.UniversalClient {
		return intercepting{UniversalClient: next, evalSha: func(ctx context.Context, digest string, keys []string, args []any) *redis.Cmd {
			if digest != release {
				return nil
			}
			if err := next.Do(ctx, "publish", args[2], "").Err(); err != nil {
				return failed(ctx, err)
			}
			_ = env.Clock.Sleep(ctx, time.Millisecond) // a sleep cut short is no matter: the script comes next
			return nil
		}}
	}
}

// cleanUpCancelled sends the script that cleans up under the caller's context, which has ended by
// then: it never leaves.
func cleanUpCancelled(cleanUp string) func(impls.Env, redis.UniversalClient) redis.UniversalClient {
	return func(_ impls.Env, next redis.UniversalClient) redis.UniversalClient {
		return intercepting{UniversalClient: next, evalSha: func(ctx context.Context, digest string, _ []string, _ []any) *redis.Cmd {
			if digest != cleanUp {
				return nil
			}
			return failed(ctx, context.Canceled)
		}}
	}
}

// stamping appends the client's own time in milliseconds to every script's arguments.
type stamping struct {
	redis.UniversalClient
	clock impls.Clock
}

func (s stamping) EvalSha(ctx context.Context, digest string, keys []string, args ...any) *redis.Cmd {
	return s.UniversalClient.EvalSha(ctx, digest, keys, append(args, s.clock.Now().UnixMilli())...)
}

func (s stamping) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return s.UniversalClient.Eval(ctx, source, keys, append(args, s.clock.Now().UnixMilli())...)
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
