package mutex

import (
	"context"

	"github.com/lockbench/lockbench/impls"
)

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
