package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Correct locks that differ from most.

// scoreLock is a sorted set with room for one member, whose score is its deadline by the server's clock.
type scoreLock struct {
	Config
	token string
}

const luaScore = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', '(' .. now)
if redis.call('zcard', KEYS[1]) > 0 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`

func (l *scoreLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	n, err := eval(ctx, l.Config, luaScore, []string{l.Key}, token, l.TTL.Milliseconds())
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *scoreLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, `return redis.call('zrem', KEYS[1], ARGV[1])`, []string{l.Key}, l.token))
}

// recordLock has a record of its holder beside its key, and asks in a transaction.
type recordLock struct {
	Config
	token string
}

func (l *recordLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}:holder"} }

func (l *recordLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	var got *redis.StringCmd
	_, err := l.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.SetNX(ctx, l.keys()[0], token, l.TTL)
		got = p.Get(ctx, l.keys()[0])
		return nil
	})
	if err != nil || got.Val() != token {
		return false, err
	}
	l.token = token
	if err := l.Redis.Set(ctx, l.keys()[1], l.Owner, l.TTL).Err(); err != nil {
		return false, errors.Join(err, l.Unlock(context.WithoutCancel(ctx)))
	}
	return true, nil
}

func (l *recordLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1], KEYS[2]) end return 0`, l.keys(), l.token))
}

// tidyLock takes back in the background what an acquire without an answer may have left.
type tidyLock struct {
	*lock
	background sync.WaitGroup
}

func (l *tidyLock) TryLock(ctx context.Context) (bool, error) {
	token := l.newToken()
	ok, err := l.Redis.SetNX(ctx, l.Key, token, l.TTL).Result()
	switch {
	case err != nil:
		l.background.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL)
			defer cancel()
			for l.cas(ctx, luaRelease, token) != nil && ctx.Err() == nil {
				time.Sleep(l.TTL / 8)
			}
		})
	case ok:
		l.token = token
	}
	return ok, err
}

func (l *tidyLock) Close() error {
	l.background.Wait()
	return nil
}

// backOffLock doubles its pauses, to an eighth of a lease.
type backOffLock struct{ *lock }

func (l backOffLock) Lock(ctx context.Context) error {
	pause := l.TTL / 64
	for {
		if ok, err := l.TryLock(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause + time.Duration(time.Now().UnixNano())%(l.TTL/64)):
		}
		pause = min(2*pause, l.TTL/8)
	}
}

// leftLock sleeps for what is left of the holder's lease.
type leftLock struct{ *lock }

func (l leftLock) Lock(ctx context.Context) error {
	for {
		if ok, err := l.TryLock(ctx); ok || err != nil {
			return err
		}
		left, err := l.Redis.PTTL(ctx, l.Key).Result()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(left, time.Millisecond)):
		}
	}
}

// clockFenceLock takes its fences from the server's clock, or the one after the last where that has not moved on.
type clockFenceLock struct {
	Config
	token string
	fence uint64
}

const luaClockFence = `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local t = redis.call('time')
local n = t[1] * 1000000 + t[2]
local last = tonumber(redis.call('get', KEYS[2]) or 0)
if n <= last then n = last + 1 end
redis.call('set', KEYS[2], string.format('%d', n))
return n`

func (l *clockFenceLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}:last"} }

func (l *clockFenceLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	n, err := eval(ctx, l.Config, luaClockFence, l.keys(), token, l.TTL.Milliseconds())
	if n > 0 {
		l.token, l.fence = token, uint64(n)
	}
	return n > 0, err
}

func (l *clockFenceLock) Fence() uint64 { return l.fence }

func (l *clockFenceLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaRelease, l.keys()[:1], l.token))
}

// selfCountLock is re-entrant by its own count, which it believes for as long as the lease certainly runs. Each entry restarts the lease.
type selfCountLock struct {
	*lock
	depth int
	until time.Time
}

func (l *selfCountLock) TryLock(ctx context.Context) (bool, error) {
	begin := time.Now()
	if l.depth > 0 && begin.Before(l.until) {
		err := l.cas(ctx, luaExtend, l.token, l.TTL.Milliseconds())
		if err == nil {
			l.depth, l.until = l.depth+1, begin.Add(l.TTL)
			return true, nil
		}
		if !errors.Is(err, errGone) {
			return false, err
		}
	}
	ok, err := l.lock.TryLock(ctx)
	if ok {
		l.depth, l.until = 1, begin.Add(l.TTL)
	}
	return ok, err
}

func (l *selfCountLock) Unlock(ctx context.Context) error {
	switch {
	case l.depth == 0:
		return errGone
	case l.depth > 1:
		l.depth--
		return nil
	}
	l.depth = 0
	return l.lock.Unlock(ctx)
}
