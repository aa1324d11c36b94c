package beyond

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// run calls a script of the package, with as many of the common arguments as the variant's scripts use.
func (l *lock) run(ctx context.Context, s *impls.Script, token string, waits bool) *redis.Cmd {
	args := [...]any{token, l.args.lease, l.args.channel, boolean(waits), l.args.permits}
	return s.Run(ctx, l.env.Redis(), l.names.keys, args[:l.how.args]...)
}

// arguments are those that are the same in every request of a handle, in the form that the Redis client takes: they are boxed once.
type arguments struct{ lease, channel, permits any }

func (l *lock) arguments() arguments {
	return arguments{lease: l.env.Lease.Milliseconds(), channel: l.names.channel, permits: max(l.env.Permits, 1)}
}

func boolean(b bool) any {
	if b {
		return 1
	}
	return 0
}
