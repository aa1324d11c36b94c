package locktest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"
)

// outsideBugs are wrong locks of an author who knew the kit by its documentation alone, and which it once missed.
func outsideBugs() []plantedBug {
	wrap := func(f func(*lock) any) factory {
		return func(c Config) (any, error) { return f(&lock{Config: c, name: itself}), nil }
	}
	renewing := func(c Config) *lock { return &lock{Config: c, name: itself, renew: true} }
	return []plantedBug{
		caught("a lease is rounded to the nearest second", newTestLock(func(l *lock) { l.nearest = true }), "odd-leases", "lease of 1.4s, and the server keeps it for 1s"),
		caught("names go through JSON", newTestLock(func(l *lock) { l.name = asJSON }), "names-apart", "valid UTF-8"),
		caught("names end at a question mark", newTestLock(func(l *lock) { l.name = upTo("?") }), "names-apart", `what is before "?"`),
		caught("names begin behind the last colon", newTestLock(func(l *lock) { l.name = behind(":") }), "names-apart", `what is behind ":"`),
		caught("names lose their slashes at the ends", newTestLock(func(l *lock) { l.name = func(s string) string { return strings.Trim(s, "/") } }), "names-apart", `trimming of "/"`),
		caught("an extend trusts the client's own deadline", newTimed(func(l *timedLock) { l.local = true }), "late-extend", "a's keys were deleted, b was granted the lock and died"),
		caught("the validity of an extend is added up", newTimed(func(l *timedLock) { l.sums = true }), "valid-until", "a.Extend returned, and a.ValidUntil is 3.75s"),
		caught("an extend counts before it is answered", newTimed(func(l *timedLock) { l.ahead = true }), "valid-until", "its extend at 500ms failed"),
		caught("the validity of a waiter is counted from the reply", func(c Config) (any, error) {
			return lateCount{&timedLock{lock: &lock{Config: c, name: itself}}}, nil
		}, "valid-until", "a.Lock, which had waited, returned, and a.ValidUntil is 1s after"),
		caught("a token is another whenever it is read", wrap(func(l *lock) any { return &freshToken{lock: l} }), "unique-tokens", "and its token is"),
		caught("the watchdog has a lease of its own", newTestLock(func(l *lock) { l.renew, l.renewsFor = true, 30*time.Second }), "lease-ends", "had renewed its lease"),
		caught("watchdogs are found by the name of the lock", newByName(), "renews", "b, which held nothing, has released"),
		caught("a Close leaves the watchdog running", func(c Config) (any, error) { return deafClose{renewing(c)}, nil }, "closes", "next was closed while it held"),
		caught("a Close deletes the key", wrap(func(l *lock) any { return deletingClose{l} }), "closes", "b's key job was deleted by a.Close (DEL job)"),
		caught("a release hands over what is left of its lease", wrap(func(l *lock) any { return &handingLock{lock: l} }), "lease-lasts", "w had waited"),
		caught("fences are counted after the grant", func(c Config) (any, error) { return &fencedLock{Config: c, after: true}, nil }, "fences-late", "came a lease late; b was granted fence"),
	}
}

func asJSON(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func upTo(end string) func(string) string {
	return func(s string) string { s, _, _ = strings.Cut(s, end); return s }
}

func behind(begin string) func(string) string {
	return func(s string) string { return s[strings.LastIndex(s, begin)+1:] }
}

// toNearest returns whole seconds, at least one.
func toNearest(d time.Duration) time.Duration {
	return time.Duration(max(1, math.Round(d.Seconds()))) * time.Second
}

// freshToken makes up a token for every question.
type freshToken struct {
	*lock
	asked int
}

func (l *freshToken) Token() string {
	l.asked++
	return fmt.Sprint(l.token, "-", l.asked)
}

// lateCount waits, and counts its lease from the last reply.
type lateCount struct{ *timedLock }

func (l lateCount) Lock(ctx context.Context) error {
	err := polls(ctx, l.Poll, l.timedLock.TryLock)
	if err == nil {
		l.until = time.Now().Add(l.TTL)
	}
	return err
}

// deafClose has a Close that does nothing.
type deafClose struct{ *lock }

func (deafClose) Close() error { return nil }

// deletingClose has a Close that frees whatever is there.
type deletingClose struct{ *lock }

func (l deletingClose) Close() error { return l.Redis.Del(context.Background(), l.key()).Err() }

// byName is a lock whose watchdog is stopped by whoever releases a lock of its name.
type byName struct {
	*lock
	all *named
}

type named struct {
	mu   sync.Mutex // clients
	dogs map[string]*lock
}

func newByName() factory {
	all := &named{dogs: map[string]*lock{}}
	return func(c Config) (any, error) { return byName{&lock{Config: c, name: itself, renew: true}, all}, nil }
}

func (l byName) TryLock(ctx context.Context) (bool, error) {
	ok, err := l.lock.TryLock(ctx)
	if ok {
		l.all.mu.Lock()
		defer l.all.mu.Unlock()
		l.all.dogs[l.Key] = l.lock
	}
	return ok, err
}

func (l byName) Unlock(ctx context.Context) error {
	l.all.mu.Lock()
	if other := l.all.dogs[l.Key]; other != nil {
		other.disarm()
	}
	maps.DeleteFunc(l.all.dogs, func(name string, _ *lock) bool { return name == l.Key })
	l.all.mu.Unlock()
	return l.lock.Unlock(ctx)
}

// handingLock writes the next waiter's token into its key, whose lease goes on.
type handingLock struct{ *lock }

func (l *handingLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}:line"} }

func (l *handingLock) ask(ctx context.Context, token, how string) (bool, error) {
	n, err := eval(ctx, l.Config, luaHandTake, l.keys(), token, l.TTL.Milliseconds(), how)
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *handingLock) TryLock(ctx context.Context) (bool, error) {
	return l.ask(ctx, l.newToken(), "try")
}

func (l *handingLock) Lock(ctx context.Context) error {
	token := l.newToken()
	return polls(ctx, l.Poll, func(ctx context.Context) (bool, error) { return l.ask(ctx, token, "wait") })
}

func (l *handingLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaHandOn, l.keys(), l.token))
}

const (
	luaHandTake = `
if redis.call('get', KEYS[1]) == ARGV[1] then return 1 end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if ARGV[3] == 'wait' then redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2]) end
return 0`

	luaHandOn = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('get', KEYS[2])
redis.call('del', KEYS[2])
if next then redis.call('set', KEYS[1], next, 'KEEPTTL') else redis.call('del', KEYS[1]) end
return 1`
)

// hashLock keeps its holder, the end of its lease by the server's clock, and the count of its grants in one hash, which stays. The
// clock is cut to milliseconds, so the lease lasts through the millisecond in which it ends: a hold of whole milliseconds is never cut short.
type hashLock struct {
	*lock
	fence uint64
}

func (l *hashLock) TryLock(ctx context.Context) (bool, error) {
	token := l.newToken()
	n, err := eval(ctx, l.Config, luaHashTake, []string{l.Key}, token, l.TTL.Milliseconds())
	if n > 0 {
		l.token, l.fence = token, uint64(n)
	}
	return n > 0, err
}

func (l *hashLock) Fence() uint64 { return l.fence }

func (l *hashLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaHashFree, []string{l.Key}, l.token))
}

const luaMillis = `local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ends = tonumber(redis.call('hget', KEYS[1], 'ends') or '0')
`

const (
	luaHashTake = luaMillis + `
if ends >= now then return 0 end
redis.call('hset', KEYS[1], 'ends', string.format('%.0f', now + ARGV[2]), 'token', ARGV[1])
return redis.call('hincrby', KEYS[1], 'grants', 1)`

	luaHashFree = luaMillis + `
if redis.call('hget', KEYS[1], 'token') ~= ARGV[1] or ends < now then return 0 end
return redis.call('hdel', KEYS[1], 'ends', 'token')`
)
