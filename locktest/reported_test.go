package locktest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Locks with defects that were reported of released libraries. A field is the defect; without it
// the lock is correct.

// channelLock waits for a publication: it tries, subscribes, and tries again before it sleeps.
type channelLock struct {
	owned

	late bool // bug: does not try again when it has subscribed (redisson/redisson#1763)
}

const luaFree = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 'free')
return 1`

func (l *channelLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}:free"} }

func (l *channelLock) TryLock(ctx context.Context) (bool, error) { return l.takes(ctx, l.keys()[0]) }

func (l *channelLock) Lock(ctx context.Context) error {
	if ok, err := l.TryLock(ctx); ok || err != nil {
		return err
	}
	return l.listens(ctx, []string{":free"}, l.TTL, l.late, nil, l.TryLock)
}

func (l *channelLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaFree, l.keys(), l.token))
}

// deadlineLock keeps its deadline, by the client's clock, in a key without expiry; who finds it over
// takes the lock if its value is the same still.
type deadlineLock struct {
	Config
	value string
}

func (l *deadlineLock) TryLock(ctx context.Context) (bool, error) {
	value := strconv.FormatInt(time.Now().Add(l.TTL).UnixMilli(), 10) + " " + l.Owner
	ok, err := l.Redis.SetNX(ctx, l.Key, value, 0).Result()
	if ok {
		l.value = value
	}
	if ok || err != nil {
		return ok, err
	}
	found, err := l.Redis.Get(ctx, l.Key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case err != nil:
		return false, err
	}
	var end int64
	if _, err := fmt.Sscan(found, &end); err != nil || time.Now().UnixMilli() <= end {
		return false, err
	}
	n, err := eval(ctx, l.Config, `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], ARGV[2]) return 1`, []string{l.Key}, found, value)
	if n == 1 {
		l.value = value
	}
	return n == 1, err
}

func (l *deadlineLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaRelease, []string{l.Key}, l.value))
}

// patternLock releases by a pattern of keys.
type patternLock struct {
	plain

	whole bool // the pattern is the name, as it is, and one script compares and deletes
}

const luaReleasePattern = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', unpack(redis.call('keys', KEYS[1])))`

func (l *patternLock) Unlock(ctx context.Context) error {
	if l.whole {
		return released(eval(ctx, l.Config, luaReleasePattern, []string{l.Key}, l.token))
	}
	if got, err := l.Redis.Get(ctx, l.Key).Result(); err != nil || got != l.token {
		return errors.Join(err, errGone)
	}
	found, err := l.Redis.Keys(ctx, l.Key+"*").Result()
	if err != nil {
		return err
	}
	return l.Redis.Del(ctx, found...).Err()
}

// digestLock takes the lock by a script that it sends by its digest alone.
type digestLock struct {
	plain
	digest string
}

func (l *digestLock) TryLock(ctx context.Context) (bool, error) {
	if l.digest == "" {
		l.digest = l.Redis.ScriptLoad(ctx, `return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`).Val()
	}
	token := l.next()
	if err := l.Redis.EvalSha(ctx, l.digest, []string{l.Key}, token, l.TTL.Milliseconds()).Err(); err != nil {
		var reply redis.Error
		if errors.As(err, &reply) { // bug: whatever the server answers but OK is a refusal
			err = nil
		}
		return false, err
	}
	l.token = token
	return true, nil
}

// hashedPermits are fields of a hash, whose lease each grant starts anew, and with it that of the
// dead (swarthy/redis-semaphore keeps a score for each instead).
type hashedPermits struct{ owned }

func (l *hashedPermits) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	n, err := eval(ctx, l.Config, `
if redis.call('hlen', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[3])
return 1`, []string{l.Key}, token, l.Permits, l.TTL.Milliseconds())
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *hashedPermits) Unlock(ctx context.Context) error {
	n, err := l.Redis.HDel(ctx, l.Key, l.token).Result()
	return released(int(n), err)
}

// gatedLock lets a client make two calls at a time: who waits keeps its place, and a release needs
// one, as a connection of a pool.
type gatedLock struct {
	*lock
	gate chan struct{}
}

func newGated() factory {
	gate := onePerClient(func(Config) *chan struct{} { g := make(chan struct{}, 2); return &g })
	return func(c Config) (any, error) {
		return &gatedLock{&lock{Config: c, name: itself}, *gate(c)}, nil
	}
}

func (l *gatedLock) within(ctx context.Context, call func() error) error {
	select {
	case l.gate <- struct{}{}:
		defer func() { <-l.gate }()
		return call()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *gatedLock) TryLock(ctx context.Context) (ok bool, err error) {
	err = l.within(ctx, func() (err error) { ok, err = l.lock.TryLock(ctx); return err })
	return ok, err
}

func (l *gatedLock) Lock(ctx context.Context) error {
	return l.within(ctx, func() error { return polls(ctx, l.Poll, l.lock.TryLock) })
}

func (l *gatedLock) Unlock(ctx context.Context) error {
	return l.within(ctx, func() error { return l.lock.Unlock(ctx) })
}

// abortedLock releases in a transaction, which its own watchdog aborts, and takes that for the loss
// of the hold.
type abortedLock struct{ dogLock }

func (l *abortedLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }

func (l *abortedLock) Unlock(ctx context.Context) error {
	defer l.dog.end()
	err := l.Redis.Watch(ctx, func(tx *redis.Tx) error {
		if found, err := tx.Get(ctx, l.Key).Result(); err != nil || found != l.token {
			return errors.Join(err, errGone)
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, l.Key).Err() })
		return err
	}, l.Key)
	if errors.Is(err, redis.TxFailedErr) {
		return nil
	}
	return err
}

// persistentRelease tries again for up to a lease.
func persistentRelease(ctx context.Context, l *lock) (err error) {
	for end := time.Now().Add(l.TTL); time.Now().Before(end); time.Sleep(l.TTL / 20) {
		if err = l.Unlock(ctx); err == nil || errors.Is(err, errGone) || ctx.Err() != nil {
			return err
		}
	}
	return err
}
