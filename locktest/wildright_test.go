package locktest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Correct locks of unusual style. Each of them once raised a false alarm, or has the makings of
// one.

// digestFenceLock sends digests itself, and the source where the server does not know it; the
// script counts the fence with the grant.
type digestFenceLock struct {
	owned
	fence uint64
}

func (l *digestFenceLock) send(ctx context.Context, source string, args ...any) (int, error) {
	keys := []string{"{" + l.Key + "}", "{" + l.Key + "}:fence"}
	n, err := l.Redis.EvalSha(ctx, redis.NewScript(source).Hash(), keys, args...).Int()
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return l.Redis.Eval(ctx, source, keys, args...).Int()
	}
	return n, err
}

func (l *digestFenceLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	n, err := l.send(ctx, `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('incr', KEYS[2])`, token, l.TTL.Milliseconds())
	if n > 0 {
		l.token, l.fence = token, uint64(n)
	}
	return n > 0, err
}

func (l *digestFenceLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }
func (l *digestFenceLock) Fence() uint64                  { return l.fence }
func (l *digestFenceLock) Token() string                  { return l.token }
func (l *digestFenceLock) Unlock(ctx context.Context) error {
	return released(l.send(ctx, luaRelease, l.token))
}
func (l *digestFenceLock) Extend(ctx context.Context) error {
	return released(l.send(ctx, luaExtend, l.token, l.TTL.Milliseconds()))
}

// fieldLock is a field of one hash for all locks, with its token and its deadline by the server's
// clock. No key of it expires.
type fieldLock struct{ owned }

func (l *fieldLock) ask(ctx context.Context, source string, args ...any) (int, error) {
	return eval(ctx, l.Config, luaNow+`local v = redis.call('hget', KEYS[1], ARGV[1])
local live, owner = v and tonumber(string.match(v, '%d+')) > now, v and string.match(v, '%d+ (.*)')
`+source, []string{"app:locks"}, append([]any{l.Key}, args...)...)
}

func (l *fieldLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	n, err := l.ask(ctx, `if live then return 0 end
redis.call('hset', KEYS[1], ARGV[1], string.format('%d', now + ARGV[3] + 1) .. ' ' .. ARGV[2]) return 1`, token, l.TTL.Milliseconds())
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *fieldLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }
func (l *fieldLock) Unlock(ctx context.Context) error {
	return released(l.ask(ctx, `if owner ~= ARGV[2] then return 0 end
redis.call('hdel', KEYS[1], ARGV[1])
if live then return 1 end return 0`, l.token))
}
func (l *fieldLock) Extend(ctx context.Context) error {
	return released(l.ask(ctx, `if not live or owner ~= ARGV[2] then return 0 end
redis.call('hset', KEYS[1], ARGV[1], string.format('%d', now + ARGV[3] + 1) .. ' ' .. ARGV[2]) return 1`, l.token, l.TTL.Milliseconds()))
}

// batonLock has a list with one baton, which wakes a waiter; who finds no holder takes the lock,
// with a baton or without.
type batonLock struct{ owned }

func (l *batonLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	n, err := l.run(ctx, `
if redis.call('exists', KEYS[2]) == 1 then return 0 end
redis.call('del', KEYS[1])
redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`, []string{":batons", ":holder"}, token, l.TTL.Milliseconds())
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *batonLock) Lock(ctx context.Context) error {
	for {
		if ok, err := l.TryLock(ctx); ok || err != nil {
			return err
		}
		// in short slices: go-redis does not end a read when its context is cancelled
		_, err := l.Redis.Do(ctx, "BLPOP", "{"+l.Key+"}:batons", (l.TTL / 20).Seconds()).Result()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
}

func (l *batonLock) Unlock(ctx context.Context) error {
	return released(l.run(ctx, `
if redis.call('get', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[2])
if redis.call('llen', KEYS[1]) == 0 then redis.call('rpush', KEYS[1], 'baton') end
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`, []string{":batons", ":holder"}, l.token, l.TTL.Milliseconds()))
}

func (l *batonLock) Extend(ctx context.Context) error {
	return released(l.run(ctx, luaExtend, []string{":holder"}, l.token, l.TTL.Milliseconds()))
}

// toldLock publishes a release on two channels, and a waiter hears both.
type toldLock struct{ owned }

func (l *toldLock) TryLock(ctx context.Context) (bool, error) { return l.takes(ctx, "{"+l.Key+"}") }

func (l *toldLock) Lock(ctx context.Context) error {
	if ok, err := l.TryLock(ctx); ok || err != nil {
		return err
	}
	return l.listens(ctx, []string{":free", ":events"}, l.TTL/4, false, nil, l.TryLock)
}

func (l *toldLock) Unlock(ctx context.Context) error {
	return released(l.run(ctx, `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 'free') redis.call('publish', KEYS[3], 'released')
return 1`, []string{"", ":free", ":events"}, l.token))
}

func (l *toldLock) Extend(ctx context.Context) error {
	return released(l.run(ctx, luaExtend, []string{""}, l.token, l.TTL.Milliseconds()))
}

// dog is a watchdog of one hold. It knows by its own clock when the hold has ended.
type dog struct {
	stop chan struct{}
	over chan struct{}
	lost chan struct{}
}

// watch renews by renew until it is stopped, or the hold is lost; a hold asked for at an instant
// lasts a lease from then. With patience, so many renewals must fail, whatever time that takes.
func watch(asked time.Time, lease time.Duration, patience int, lost chan struct{}, renew func(context.Context) error) *dog {
	d := &dog{make(chan struct{}), make(chan struct{}), lost}
	go func() {
		defer close(d.over)
		for failures := 0; ; {
			pause := min(lease/4, time.Until(asked.Add(lease))) // at once if the grant came late
			if patience > 0 {
				pause = lease / 4
			}
			select {
			case <-d.stop:
				return
			case <-time.After(pause):
			}
			begin := time.Now()
			until := asked.Add(lease)
			if patience > 0 {
				until = begin.Add(2 * lease)
			}
			ctx, cancel := context.WithDeadline(context.Background(), until)
			err := renew(ctx)
			cancel()
			if failures++; err == nil {
				failures, asked = 0, begin
			}
			if errors.Is(err, errGone) || patience == 0 && err != nil && time.Since(asked) >= lease || patience > 0 && failures == patience {
				if !ended(lost) {
					close(lost)
				}
				return
			}
		}
	}()
	return d
}

// end stops the watchdog and waits for it.
func (d *dog) end() {
	if d == nil {
		return
	}
	if !ended(d.stop) {
		close(d.stop)
	}
	<-d.over
}

// dogLock renews, and reports its loss. It does not end for a client whose connections are closed.
type dogLock struct {
	plain
	dog *dog

	once     bool // bug: all holds have one channel
	patience int  // bug: see watch
}

func (l *dogLock) TryLock(ctx context.Context) (bool, error) {
	asked := time.Now()
	ok, err := l.plain.TryLock(ctx)
	if ok {
		l.guard(asked)
	}
	return ok, err
}

// guard starts a watchdog for the hold of the token.
func (l *dogLock) guard(asked time.Time) {
	l.dog.end()
	token, lost := l.token, make(chan struct{})
	if l.once && l.dog != nil {
		lost = l.dog.lost
	}
	l.dog = watch(asked, l.TTL, l.patience, lost, func(ctx context.Context) error { return l.renew(ctx, l.Key, token) })
}

func (l *dogLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }
func (l *dogLock) Lost() <-chan struct{}          { return l.dog.lost }
func (l *dogLock) Close() error                   { l.dog.end(); return nil }
func (l *dogLock) Unlock(ctx context.Context) error {
	l.dog.end()
	return l.plain.Unlock(ctx)
}

// nestLock may be entered again; one watchdog keeps the nest, and one Lost tells of its end.
type nestLock struct {
	dogLock
	depth int
}

func (l *nestLock) TryLock(ctx context.Context) (bool, error) {
	if l.depth > 0 && !ended(l.dog.lost) {
		switch err := l.renew(ctx, l.Key, l.token); {
		case err == nil && !ended(l.dog.lost):
			l.depth++
			return true, nil
		case err == nil: // its end was told meanwhile
			if err := l.plain.Unlock(ctx); err != nil && !errors.Is(err, errGone) {
				return false, err
			}
		case !errors.Is(err, errGone):
			return false, err
		}
	}
	ok, err := l.dogLock.TryLock(ctx)
	if ok {
		l.depth = 1
	}
	return ok, err
}

func (l *nestLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }

func (l *nestLock) Unlock(ctx context.Context) error {
	if l.depth == 0 {
		return errGone
	}
	if l.depth--; l.depth > 0 {
		if ended(l.dog.lost) {
			return errGone
		}
		return nil
	}
	return l.dogLock.Unlock(ctx)
}

// dogRWLock is for readers and writers, each of whom renews.
type dogRWLock struct {
	modal
	writing, reading *dog
}

const (
	luaLive = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
`
	luaReadOn = luaLive + `
if not redis.call('zscore', KEYS[2], ARGV[1]) then return 0 end` + luaReadStay
	luaReadStay = `
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, ARGV[1])
if redis.call('pttl', KEYS[2]) < ARGV[2] + 1 then redis.call('pexpire', KEYS[2], ARGV[2] + 1) end
return 1`
)

func newDogRW(c Config) (any, error) {
	return &dogRWLock{modal: modal{owned: owned{Config: c}, ends: []string{":writer", ":readers"}, unwrite: luaRelease, write: luaLive + `
if redis.call('zcard', KEYS[2]) > 0 then return 0 end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`, read: luaLive + `
if redis.call('exists', KEYS[1]) == 1 then return 0 end` + luaReadStay, unread: luaLive + `return redis.call('zrem', KEYS[2], ARGV[1])`}}, nil
}

// guarded asks, and starts a watchdog for what it is granted.
func (l *dogRWLock) guarded(ctx context.Context, script, renew string, token *string, d **dog) (bool, error) {
	asked := time.Now()
	ok, err := l.ask(ctx, script, token)
	if ok {
		(*d).end()
		mine := *token
		*d = watch(asked, l.TTL, 0, make(chan struct{}), func(ctx context.Context) error {
			return released(l.run(ctx, renew, l.ends, mine, l.TTL.Milliseconds()))
		})
	}
	return ok, err
}

func (l *dogRWLock) TryLock(ctx context.Context) (bool, error) {
	return l.guarded(ctx, l.write, luaExtend, &l.token, &l.writing)
}
func (l *dogRWLock) TryRLock(ctx context.Context) (bool, error) {
	return l.guarded(ctx, l.read, luaReadOn, &l.reads, &l.reading)
}
func (l *dogRWLock) Lock(ctx context.Context) error    { return polls(ctx, l.Poll, l.TryLock) }
func (l *dogRWLock) RLock(ctx context.Context) error   { return polls(ctx, l.Poll, l.TryRLock) }
func (l *dogRWLock) Close() error                      { l.writing.end(); l.reading.end(); return nil }
func (l *dogRWLock) Unlock(ctx context.Context) error  { l.writing.end(); return l.modal.Unlock(ctx) }
func (l *dogRWLock) RUnlock(ctx context.Context) error { l.reading.end(); return l.modal.RUnlock(ctx) }

// wildControls are controls in which a false alarm was raised from outside.
func wildControls() []control {
	base := func(c Config) owned { return owned{Config: c} }
	return []control{
		{name: "has its holder and its line in one sorted set", make: by(arrivals(), lasting)},
		{name: "has tickets, the lowest of which holds", make: by(ticketed(), tickets)},
		{name: "has a stream as its line", make: by(streamLine(), lasting), lacks: "XRANGE"},
		{name: "sends digests, and counts its fence with the grant", make: func(c Config) (any, error) { return &digestFenceLock{owned: base(c)}, nil }},
		{name: "is a field of one hash for all locks", make: func(c Config) (any, error) { return &fieldLock{base(c)}, nil }},
		{name: "has a baton", make: func(c Config) (any, error) { return &batonLock{base(c)}, nil }},
		{name: "publishes a release on two channels", make: func(c Config) (any, error) { return &toldLock{base(c)}, nil }},
		{name: "tries its release again", make: bent(bentLock{releases: persistentRelease})},
		{name: "is a semaphore of keys", make: func(c Config) (any, error) { return &slotLock{owned: base(c)}, nil }, options: []Option{Promises("permits")}},
		{name: "renews, and reports its loss by its own clock", make: func(c Config) (any, error) { return &dogLock{plain: plain{base(c)}}, nil }, options: []Option{Promises("renews")}},
		{name: "renews for as long as its process lives", make: around(func(l *lock) any { l.renew = true; return &bentLock{lock: l} }), options: []Option{Promises("renews")}},
		{name: "may be entered again, renews, and reports its loss", make: func(c Config) (any, error) { return &nestLock{dogLock: dogLock{plain: plain{base(c)}}}, nil }, options: []Option{Promises("reentrant", "renews")}},
		{name: "is for readers and writers, who renew", make: newDogRW, options: []Option{Promises("renews")}},
	}
}
