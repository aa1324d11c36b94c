package rw

import (
	"context"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// pair keeps one mark for all readers and one for the writer, under two unrelated names; every
// release deletes the mark.
type pair struct {
	env         impls.Env
	acquire     byMode
	lease       int64 // in the unit of the scripts
	read, write string
}

func newPair(scripts byMode) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		p := pair{env: env}
		p.read, p.write = pairKeys(env.Key)
		p.acquire, p.lease = scripts.inLeaseUnit(env.Lease)
		return &lock{env: env, protocol: p}, nil
	}
}

// pairKeys makes the article's two plain names. It removes braces: a hash tag would mend a defect
// of the article.
func pairKeys(key string) (read, write string) {
	plain := strings.NewReplacer("{", "", "}", "").Replace(key)
	return plain + ":read", plain + ":write"
}

func (p pair) take(ctx context.Context, mode history.Mode) (hold, bool, error) {
	n, err := p.acquire.of(mode).Run(ctx, p.env.Redis(), []string{p.read, p.write}, p.lease).Int()
	return hold{mode: mode}, n == 1, err
}

func (p pair) give(ctx context.Context, h hold) (bool, error) {
	key := p.write
	if h.mode == history.Shared {
		key = p.read
	}
	n, err := p.env.Redis().Del(ctx, key).Result()
	return n == 1, err
}
