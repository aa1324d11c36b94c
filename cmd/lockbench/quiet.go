package main

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// silence drops what the Redis client would print on stderr by itself: connections that die are what lockbench is about, and every one of
// them is in the record.
type silence struct{}

// Printf drops the message.
func (silence) Printf(context.Context, string, ...any) {}

// quietRedis silences the Redis client. It sets what that library keeps globally, and so is called from main alone.
func quietRedis() { redis.SetLogger(silence{}) }
