package mutex

import (
	"context"
	_ "embed"

	"github.com/lockbench/lockbench/impls"
)

var (
	//go:embed lua/lua_nil.lua
	luaNilSource string
	//go:embed lua/setnx_expire.lua
	setnxExpireSource string

	luaNilScript      = impls.NewLeaseScript("lua_nil.lua", luaNilSource)
	setnxExpireScript = impls.NewLeaseScript("setnx_expire.lua", setnxExpireSource)
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
