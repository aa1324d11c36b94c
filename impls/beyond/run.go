package beyond

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// run calls a script of the package.
func (l *lock) run(ctx context.Context, s *impls.Script, token string, waits bool) *redis.Cmd {
	return s.Run(ctx, l.env.Redis(), l.names.keys, token, l.env.Lease.Milliseconds(), l.names.channel, boolean(waits), max(l.env.Permits, 1))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
