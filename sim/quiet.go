package sim

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet silences the Redis client's log: in a world where servers die on purpose thousands of times a second it has nothing to
// tell. It sets what the client keeps globally, so it is for processes that do nothing but simulate.
func quiet() { redis.SetLogger(silence{}) }

type silence struct{}

// Printf drops the message.
func (silence) Printf(context.Context, string, ...any) {}
