package mutex

import (
	"context"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// setnxExpire sets the lease in a second command, which a client that crashes in between never
// sends.
var setnxExpire = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := setnx(ctx, env, "1")
		if err != nil || !ok {
			return hold{}, false, err
		}
		return hold{value: "1"}, true, impls.Unsettled(expire(ctx, env))
	},
	release: del,
}

// clockTolerance is what the source adds to the deadline in the value, for clients whose clocks
// differ.
const clockTolerance = time.Second

// getsetTimestamp stores its deadline by the client's clock, so that another client can take over a
// key without an expiry. The source stores the milliseconds as eight bytes, this code as decimal
// digits.
var getsetTimestamp = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		now := env.Clock.Now()
		deadline := strconv.FormatInt(now.Add(env.Lease+clockTolerance).UnixMilli(), 10)
		h := hold{value: deadline}
		ok, err := setnx(ctx, env, deadline)
		if err != nil {
			return hold{}, false, err
		}
		if ok {
			return h, true, impls.Unsettled(expire(ctx, env))
		}
		ok, err = takeOver(ctx, env, now, deadline)
		return h, ok, err
	},
	release: del,
}

// takeOver replaces an expired deadline, and succeeds if it replaced the one that it had read.
// Otherwise it has changed the winner's deadline, which the source accepts.
func takeOver(ctx context.Context, env impls.Env, now time.Time, deadline string) (bool, error) {
	read, there, err := text(env.Redis().Do(ctx, "get", env.Key))
	if err != nil || !there {
		return false, err
	}
	if ms, err := strconv.ParseInt(read, 10, 64); err != nil || ms >= now.UnixMilli() { // not past, or no deadline
		return false, nil
	}
	replaced, there, err := text(env.Redis().Do(ctx, "getset", env.Key, deadline))
	if err != nil || !there || replaced != read {
		return false, err
	}
	return true, impls.Unsettled(expire(ctx, env))
}
