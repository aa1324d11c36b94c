package rw

import (
	"context"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// owner keeps the readers as fields of a hash and the writer as a string, both named by the owner,
// without a lease.
type owner struct {
	env     impls.Env
	acquire byMode
	release byMode
}

// ownerKeys derives the keys that the scripts compute.
type ownerKeys struct{}

// Derived returns them for any of the scripts.
func (ownerKeys) Derived(keys, _ []string) (all []string) {
	for _, key := range keys {
		all = append(all, key+":read", key+":write")
	}
	return all
}

func newOwner(acquire, release byMode) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		return &lock{env: env, protocol: owner{env, acquire, release}}, nil
	}
}

func (o owner) take(ctx context.Context, mode history.Mode) (hold, bool, error) {
	n, err := o.acquire.of(mode).Run(ctx, o.env.Redis(), []string{o.env.Key}, o.env.Owner).Int()
	return hold{mode: mode}, n == 1, err
}

func (o owner) give(ctx context.Context, h hold) (bool, error) {
	n, err := o.release.of(h.mode).Run(ctx, o.env.Redis(), []string{o.env.Key}, o.env.Owner).Int()
	return n == 1, err
}
