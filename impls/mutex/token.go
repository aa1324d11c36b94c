package mutex

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/impls"
)

var (
	tokenReleaseScript = impls.EmbeddedScript(lua, "token_release.lua")
	tokenExtendScript  = impls.EmbeddedScript(lua, "token_extend.lua")
)

// tokenGetDel compares in the client: the holder may change between GET and DEL.
var tokenGetDel = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		h, err := newHold(env)
		if err != nil {
			return hold{}, false, err
		}
		ok, err := impls.SetMissing(ctx, env, h.value)
		return h, ok, err
	},
	release: func(ctx context.Context, env impls.Env, h hold) (bool, error) {
		found, _, err := text(env.Redis().Do(ctx, "get", env.Key))
		if err != nil || found != h.value {
			return false, err
		}
		return del(ctx, env, h)
	},
}

// token is the pattern of the Redis documentation. Its grants are valid for a lease from the
// sending of the request, which is before the server starts the lease.
var token = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		h, err := newHold(env)
		if err != nil {
			return hold{}, false, err
		}
		h.grant.ValidUntil = env.Clock.Now().Add(env.Lease)
		ok, err := impls.Yes(env.Redis().Do(ctx, "set", env.Key, h.value, "nx", "px", env.Lease.Milliseconds()))
		return h, ok, err
	},
	release: releaseToken,
	extend:  extendToken,
}

// newHold returns a hold with a random token.
func newHold(env impls.Env) (hold, error) {
	t, err := impls.NewToken(env.Rand)
	if err != nil {
		return hold{}, fmt.Errorf("%w: %w", impls.ErrUnavailable, err)
	}
	return hold{value: t, grant: impls.Grant{Token: t}}, nil
}

func releaseToken(ctx context.Context, env impls.Env, h hold) (bool, error) {
	return impls.Yes(tokenReleaseScript.Run(ctx, env.Redis(), []string{env.Key}, h.value))
}

func extendToken(ctx context.Context, env impls.Env, h hold) (impls.Grant, bool, error) {
	g := h.grant
	g.ValidUntil = env.Clock.Now().Add(env.Lease)
	ok, err := impls.Yes(tokenExtendScript.Run(ctx, env.Redis(), []string{env.Key}, h.value, env.Lease.Milliseconds()))
	return g, ok, err
}
