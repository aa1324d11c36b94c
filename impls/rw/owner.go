package rw

import (
	"context"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// ownerKeys derives the keys that the scripts compute.
type ownerKeys struct{}

// Derived returns them for any of the scripts.
func (ownerKeys) Derived(keys, _ []string) (all []string) {
	for _, key := range keys {
		all = append(all, key+":read", key+":write")
	}
	return all
}

// owner keeps the readers as fields of a hash and the writer as a string, both named by the owner,
// without a lease.
func owner(acquire, release byMode) protocol {
	return protocol{
		take: func(ctx context.Context, env impls.Env, mode history.Mode) (hold, bool, error) {
			n, err := acquire.of(mode).Run(ctx, env.Redis(), []string{env.Key}, env.Owner).Int()
			return hold{mode: mode}, n == 1, err
		},
		give: func(ctx context.Context, env impls.Env, h hold) (bool, error) {
			n, err := release.of(h.mode).Run(ctx, env.Redis(), []string{env.Key}, env.Owner).Int()
			return n == 1, err
		},
	}
}
