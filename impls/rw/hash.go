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

// hash keeps one read mark and one write mark, each the time at which it was set by its client's
// clock.
type hash struct {
	env      impls.Env
	acquire  byMode
	release  byMode
	timeouts timeouts
}

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

func newHash(acquire, release byMode) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		return &lock{env: env, protocol: hash{env, acquire, release, timeoutsFor(env.Lease)}}, nil
	}
}

// take marks the hash with the client's time. Others respect the mark until that time plus the
// mode's time-out, which is therefore the hold's validity.
func (h hash) take(ctx context.Context, mode history.Mode) (hold, bool, error) {
	now, t := h.env.Clock.Now().Truncate(time.Millisecond), h.timeouts
	mark := strconv.FormatInt(now.UnixMilli(), 10)
	n, err := h.acquire.of(mode).Run(ctx, h.env.Redis(), []string{h.env.Key},
		t.key.Milliseconds(), t.read.Milliseconds(), t.write.Milliseconds(), mark).Int()
	limit := t.write
	if mode == history.Shared {
		limit = t.read
	}
	return hold{mode: mode, mark: mark, until: now.Add(limit)}, n == 1, err
}

// give always returns that it released: the article's scripts have no reply.
func (h hash) give(ctx context.Context, held hold) (bool, error) {
	err := h.release.of(held.mode).Run(ctx, h.env.Redis(), []string{h.env.Key}, held.mark).Err()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return true, err
}
