package mutex

import (
	"context"

	"github.com/lockbench/lockbench/impls"
)

var (
	luaNilScript      = impls.NewLeaseScript(impls.EmbeddedScript(lua, "lua_nil.lua"))
	setnxExpireScript = impls.NewLeaseScript(impls.EmbeddedScript(lua, "setnx_expire.lua"))
)

// luaNil compares GET with nil, which never matches: in Lua a missing key is false.
var luaNil = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := impls.Yes(luaNilScript.Run(ctx, env, "lock"))
		return hold{value: "lock"}, ok, err
	},
	release: del,
}

// luaSetnxExpire runs SETNX and EXPIRE in one script, and still deletes the key whoever holds it.
var luaSetnxExpire = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := impls.Yes(setnxExpireScript.Run(ctx, env, "1"))
		return hold{value: "1"}, ok, err
	},
	release: del,
}

// setNxEx uses the options of SET instead.
var setNxEx = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := impls.SetMissing(ctx, env, "1")
		return hold{value: "1"}, ok, err
	},
	release: del,
}

// existsSet checks and sets the key in two commands, which are not atomic.
var existsSet = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		there, err := impls.Yes(env.Redis().Do(ctx, "exists", env.Key))
		if err != nil || there {
			return hold{}, false, err
		}
		ok, err := impls.Yes(env.Redis().Do(ctx, "set", env.Key, "1"))
		return hold{value: "1"}, ok, err
	},
	release: del,
}

// plainSetnx is one SETNX; the hold of a crashed client never ends.
var plainSetnx = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := setnx(ctx, env, "1")
		return hold{value: "1"}, ok, err
	},
	release: del,
}
