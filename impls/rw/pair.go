package rw

import (
	"context"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// pair keeps one mark for all readers and one for the writer, under two unrelated names; every
// release deletes the mark.
func pair(acquire byMode) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		// The article's two plain names, without braces: a hash tag would mend a defect of the article.
		plain := strings.NewReplacer("{", "", "}", "").Replace(env.Key)
		read, write := plain+":read", plain+":write"
		acquire, lease := acquire, int64(env.Lease/time.Second)
		if !impls.WholeSeconds(env.Lease) {
			acquire, lease = byMode{acquire.shared.Millis(), acquire.exclusive.Millis()}, env.Lease.Milliseconds()
		}
		return protocol{
			take: func(ctx context.Context, env impls.Env, mode history.Mode) (hold, bool, error) {
				n, err := acquire.of(mode).Run(ctx, env.Redis(), []string{read, write}, lease).Int()
				return hold{mode: mode}, n == 1, err
			},
			give: func(ctx context.Context, env impls.Env, h hold) (bool, error) {
				key := write
				if h.mode == history.Shared {
					key = read
				}
				n, err := env.Redis().Del(ctx, key).Result()
				return n == 1, err
			},
		}.open(env)
	}
}
