package main

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// silence drops the messages of the Redis client, which it would print on stderr: lost connections are part of most runs, and each is
// recorded.
type silence struct{}

// Printf drops the message.
func (silence) Printf(context.Context, string, ...any) {}

// quietRedis silences the Redis client. It sets global state of that library, so only main calls it.
func quietRedis() { redis.SetLogger(silence{}) }
