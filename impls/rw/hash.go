package rw

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// The article's time-outs: a hold of the writer is respected for 3 s, one of a reader for 1 s, and
// the server forgets the hash 10 s after the last grant.
const (
	hashWrite = 3 * time.Second
	hashRead  = time.Second
	hashKey   = 10 * time.Second
)

// timeouts are the three times of the article.
type timeouts struct{ key, read, write time.Duration }

// timeoutsFor scales the article's times so that a writer's hold is respected for the lease:
// "lease" is how long a hold lasts, and the article's key lease only sweeps up. A lease of 3 s, or
// none, gives the article's own figures. Whole milliseconds.
func timeoutsFor(lease time.Duration) timeouts {
	if lease <= 0 {
		lease = hashWrite
	}
	scaled := func(d time.Duration) time.Duration {
		return (lease * (d / time.Millisecond) / (hashWrite / time.Millisecond)).Truncate(time.Millisecond)
	}
	return timeouts{scaled(hashKey), scaled(hashRead), scaled(hashWrite)}
}

// hash keeps one read mark and one write mark, each the time at which it was set by its client's
// clock.
func hash(acquire, release byMode) protocol {
	return protocol{
		// Others respect the mark until its time plus the mode's time-out, which is therefore the
		// hold's validity.
		take: func(ctx context.Context, env impls.Env, mode history.Mode) (hold, bool, error) {
			now, t := env.Clock.Now().Truncate(time.Millisecond), timeoutsFor(env.Lease)
			mark := strconv.FormatInt(now.UnixMilli(), 10)
			n, err := acquire.of(mode).Run(ctx, env.Redis(), []string{env.Key},
				t.key.Milliseconds(), t.read.Milliseconds(), t.write.Milliseconds(), mark).Int()
			limit := t.write
			if mode == history.Shared {
				limit = t.read
			}
			return hold{mode: mode, mark: mark, until: now.Add(limit)}, n == 1, err
		},
		// It always returns that it released: the article's scripts have no reply.
		give: func(ctx context.Context, env impls.Env, h hold) (bool, error) {
			err := release.of(h.mode).Run(ctx, env.Redis(), []string{env.Key}, h.mark).Err()
			if errors.Is(err, redis.Nil) {
				err = nil
			}
			return true, err
		},
	}
}
