package mutex

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// dialect is the compare-and-delete command that a server has.
type dialect string

const (
	undecided dialect = ""
	delex     dialect = "delex"   // Redis 8.4, Valkey 9.2: DELEX key IFEQ value
	delifeq   dialect = "delifeq" // Valkey 9.0: DELIFEQ key value
)

// command returns the compare-and-delete command.
func (d dialect) command(key, value string) []any {
	if d == delifeq {
		return []any{"delifeq", key, value}
	}
	return []any{"delex", key, "ifeq", value}
}

// openNative opens token with the server's compare-and-delete command instead of scripts. The handle
// finds the command once, by deleting a missing key.
func openNative(env impls.Env) (impls.Lock, error) {
	speaks := undecided
	return protocol{
		acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
			if speaks == undecided {
				d, err := probe(ctx, env)
				if err != nil {
					return hold{}, false, err
				}
				speaks = d
			}
			return token.acquire(ctx, env)
		},
		release: func(ctx context.Context, env impls.Env, h hold) (bool, error) {
			return impls.Yes(env.Redis().Do(ctx, speaks.command(env.Key, h.value)...))
		},
		extend: extendNative,
	}.open(env)
}

// probe returns the server's dialect, or ErrUnsupported.
func probe(ctx context.Context, env impls.Env) (dialect, error) {
	for _, d := range []dialect{delex, delifeq} {
		err := env.Redis().Do(ctx, d.command(impls.Derived(env.Key, ":probe"), "")...).Err()
		if err == nil {
			return d, nil
		}
		if !refusal(err, "ERR unknown command") {
			return undecided, err
		}
	}
	return undecided, fmt.Errorf("%w: the server has neither DELEX nor DELIFEQ", impls.ErrUnsupported)
}

// extendNative sets the token again if it is there, with a new lease. It falls back to the script
// on a server without SET IFEQ, such as miniredis.
func extendNative(ctx context.Context, env impls.Env, h hold) (impls.Grant, bool, error) {
	g := h.grant
	g.ValidUntil = env.Clock.Now().Add(env.Lease)
	ok, err := impls.Yes(env.Redis().Do(ctx, "set", env.Key, h.value, "ifeq", h.value, "px", env.Lease.Milliseconds()))
	if refusal(err, "ERR syntax error") {
		return extendToken(ctx, env, h)
	}
	return g, ok, err
}

// refusal reports whether err is an error reply that begins with words.
func refusal(err error, words string) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.HasPrefix(reply.Error(), words)
}
