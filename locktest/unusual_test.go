package locktest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Correct locks that differ from most.

// recordLock has a record of its holder beside its key, and asks in a transaction.
type recordLock struct{ owned }

func (l *recordLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}:holder"} }

func (l *recordLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
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

	later bool // takes back an eighth of a lease later, which is a bug if its token is its owner's name
}

func (l *tidyLock) TryLock(ctx context.Context) (bool, error) {
	token := l.newToken()
	ok, err := l.Redis.SetNX(ctx, l.Key, token, l.TTL).Result()
	switch {
	case err != nil:
		l.background.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL)
			defer cancel()
			if l.later {
				time.Sleep(l.TTL / 8)
			}
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
	next := l.TTL / 64
	return pausing(ctx, func() (time.Duration, error) {
		pause := next + time.Duration(time.Now().UnixNano())%(l.TTL/64)
		next = min(2*next, l.TTL/8)
		return pause, nil
	}, l.TryLock)
}

// leftLock sleeps for what is left of the holder's lease.
type leftLock struct{ *lock }

func (l leftLock) Lock(ctx context.Context) error {
	return pausing(ctx, func() (time.Duration, error) {
		left, err := l.Redis.PTTL(ctx, l.Key).Result()
		return max(left, time.Millisecond), err
	}, l.TryLock)
}

// selfCountLock is re-entrant by its own count, which it believes for as long as the lease
// certainly runs. Each entry restarts the lease.
type selfCountLock struct {
	*lock
	depth int
	until time.Time

	trusts bool // bug: believes its count for ever
}

func (l *selfCountLock) TryLock(ctx context.Context) (bool, error) {
	begin := time.Now()
	if l.depth > 0 && l.trusts {
		l.depth++
		return true, nil
	}
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

// watchLock takes the lock by WATCH and MULTI.
type watchLock struct{ *lock }

func (l watchLock) TryLock(ctx context.Context) (bool, error) {
	token := l.newToken()
	err := l.Redis.Watch(ctx, func(tx *redis.Tx) error {
		if n, err := tx.Exists(ctx, l.Key).Result(); err != nil || n > 0 {
			return cmp.Or(err, errTakenByAnother)
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, l.Key, token, l.TTL)
			return nil
		})
		return err
	}, l.Key)
	if errors.Is(err, redis.TxFailedErr) || errors.Is(err, errTakenByAnother) {
		return false, nil
	}
	if err == nil {
		l.token = token
	}
	return err == nil, err
}

// guardLock holds a guard while it looks at its key. Like what it takes, a guard ends by itself.
type guardLock struct{ *lock }

func (l guardLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}:guard"} }

func (l guardLock) TryLock(ctx context.Context) (bool, error) {
	token := l.newToken()
	if ok, err := l.Redis.SetNX(ctx, l.keys()[1], token, max(l.TTL/10, time.Millisecond)).Result(); !ok || err != nil {
		return false, err
	}
	n, err := eval(ctx, l.Config, luaGuarded, l.keys(), token, l.TTL.Milliseconds())
	switch {
	case n == 1:
		l.token = token
	case err == nil:
		_, err = eval(ctx, l.Config, luaRelease, l.keys()[1:], token)
	}
	return n == 1, err
}

func (l guardLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaRelease, l.keys()[:1], l.token))
}

const luaGuarded = `
if redis.call('exists', KEYS[1]) == 1 or redis.call('get', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[2])
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

// renameLock writes a key of its own and renames it to the lock's, unless there is one.
type renameLock struct{ *lock }

func (l renameLock) TryLock(ctx context.Context) (bool, error) {
	token := l.newToken()
	own := "{" + l.Key + "}" + token
	if err := l.Redis.Set(ctx, own, token, l.TTL).Err(); err != nil {
		return false, err
	}
	ok, err := l.Redis.RenameNX(ctx, own, l.Key).Result()
	switch {
	case ok:
		l.token = token
	case err == nil:
		err = l.Redis.Del(ctx, own).Err()
	}
	return ok, err
}
