package mutex

import (
	"context"

	"github.com/lockbench/lockbench/impls"
)

var (
	luaNilScript      = impls.NewLeaseScript(impls.EmbeddedScript(lua, "lua_nil.lua"))
	setnxExpireScript = impls.NewLeaseScript(impls.EmbeddedScript(lua, "setnx_expire.lua"))
)

// luaNil asks Lua whether GET answers nil, which it never does: a missing key is false there.
var luaNil = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := impls.Yes(luaNilScript.Run(ctx, env, "lock"))
		return hold{value: "lock"}, ok, err
	},
	release: del,
}

// luaSetnxExpire makes SETNX and EXPIRE one step by a script, and still deletes whatever it finds.
var luaSetnxExpire = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := impls.Yes(setnxExpireScript.Run(ctx, env, "1"))
		return hold{value: "1"}, ok, err
	},
	release: del,
}

// setNxEx makes them one step by the options of SET.
var setNxEx = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := impls.SetMissing(ctx, env, "1")
		return hold{value: "1"}, ok, err
	},
	release: del,
}

// existsSet looks whether the key is there and writes it if not, in two commands: between them anybody may do the
// same.
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

// plainSetnx is one SETNX; nothing ever ends the hold of a client that dies.
var plainSetnx = protocol{
	acquire: func(ctx context.Context, env impls.Env) (hold, bool, error) {
		ok, err := setnx(ctx, env, "1")
		return hold{value: "1"}, ok, err
	},
	release: del,
}
