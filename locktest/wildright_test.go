package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Correct locks of unusual style. Each of them once raised a false alarm, or has the makings of one.

// owned is the part that the locks below have in common.
type owned struct {
	Config
	token string
	round int
}

func (l *owned) next() string {
	l.round++
	return fmt.Sprint(l.Owner, "-", l.round, "-", time.Now().UnixNano())
}

// run runs a script on keys in one hash slot, whose names end as given.
func (l *owned) run(ctx context.Context, source string, ends []string, args ...any) (int, error) {
	keys := make([]string, len(ends))
	for i, e := range ends {
		keys[i] = "{" + l.Key + "}" + e
	}
	return eval(ctx, l.Config, source, keys, args...)
}

// lined waits in a line that the server keeps: it asks with one token until it is granted, and leaves the line if it gives up.
type lined struct {
	owned
	ends             []string
	ask, free, renew string      // scripts; ask gets the token, the lease, and "wait" or "try"
	won              func(n int) // gets what ask returned, if it was granted; may be nil
}

func (l *lined) try(ctx context.Context, token, how string) (bool, error) {
	n, err := l.run(ctx, l.ask, l.ends, token, l.TTL.Milliseconds(), how)
	if n > 0 {
		l.token = token
		if l.won != nil {
			l.won(n)
		}
	}
	return n > 0, err
}

func (l *lined) TryLock(ctx context.Context) (bool, error) { return l.try(ctx, l.next(), "try") }

func (l *lined) Lock(ctx context.Context) error {
	token := l.next()
	err := polls(ctx, l.Poll, func(ctx context.Context) (bool, error) { return l.try(ctx, token, "wait") })
	if err != nil {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/4)
		defer cancel()
		_, _ = l.run(leave, l.free, l.ends, token)
	}
	return err
}

func (l *lined) Unlock(ctx context.Context) error {
	return released(l.run(ctx, l.free, l.ends, l.token))
}

func (l *lined) Extend(ctx context.Context) error {
	return released(l.run(ctx, l.renew, l.ends, l.token, l.TTL.Milliseconds()))
}

const luaNow = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`

// newArrivals keeps holder and line in one sorted set by arrival, whose first member holds; another has each member's deadline.
func newArrivals(c Config) (any, error) {
	return &lined{owned: owned{Config: c}, ends: []string{":line", ":until"}, ask: luaNow + `
for _, m in ipairs(redis.call('zrangebyscore', KEYS[2], '-inf', now)) do
  redis.call('zrem', KEYS[1], m) redis.call('zrem', KEYS[2], m)
end
if not redis.call('zscore', KEYS[1], ARGV[1]) then
  if ARGV[3] == 'try' and redis.call('zcard', KEYS[1]) > 0 then return 0 end
  local last = redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')
  redis.call('zadd', KEYS[1], (tonumber(last[2]) or 0) + 1, ARGV[1])
end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2] + 1) redis.call('pexpire', KEYS[2], ARGV[2] + 1)
if redis.call('zrank', KEYS[1], ARGV[1]) == 0 then return 1 end
return 0`, renew: luaNow + `
local d = redis.call('zscore', KEYS[2], ARGV[1])
if not d or tonumber(d) <= now then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2] + 1) redis.call('pexpire', KEYS[2], ARGV[2] + 1)
return 1`, free: luaNow + `
local d = redis.call('zscore', KEYS[2], ARGV[1])
redis.call('zrem', KEYS[2], ARGV[1])
local n = redis.call('zrem', KEYS[1], ARGV[1])
if d and tonumber(d) <= now then return 0 end
return n`}, nil
}

// newTickets draws tickets by INCR; the lowest live one holds, and is the fence.
func newTickets(c Config) (any, error) {
	l := &ticketLock{}
	l.lined = lined{owned: owned{Config: c}, won: func(n int) { l.fence = uint64(n) }, ends: []string{":next", ":live"}, ask: luaTicket + `
local mine = find(ARGV[1])
local all = redis.call('zrange', KEYS[2], 0, -1)
if not mine then
  if ARGV[3] == 'try' and #all > 0 then return 0 end
  mine = string.format('%d', redis.call('incr', KEYS[1])) .. ':' .. ARGV[1]
end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, mine)
redis.call('pexpire', KEYS[2], ARGV[2] + 1)
for _, m in ipairs(all) do if number(m) < number(mine) then return 0 end end
return number(mine)`, renew: luaTicket + `
local mine = find(ARGV[1])
if not mine then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, mine)
return redis.call('pexpire', KEYS[2], ARGV[2] + 1)`, free: luaTicket + `
local mine = find(ARGV[1])
if not mine then return 0 end
return redis.call('zrem', KEYS[2], mine)`}
	return l, nil
}

const luaTicket = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
local function number(m) return tonumber(string.match(m, '^%d+')) end
local function find(token)
  for _, m in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
    if string.match(m, '^%d+:(.*)') == token then return m end
  end
end
`

type ticketLock struct {
	lined
	fence uint64
}

func (l *ticketLock) Fence() uint64 { return l.fence }

// newStreamLine has a stream as its line; a hash has the deadlines.
func newStreamLine(c Config) (any, error) {
	const drop = `
local function drop(who)
  for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do
    if e[2][2] == who then redis.call('xdel', KEYS[1], e[1]) end
  end
end
`
	return &lined{owned: owned{Config: c}, ends: []string{":line", ":until"}, ask: luaNow + drop + `
while true do
  local e = redis.call('xrange', KEYS[1], '-', '+', 'count', 1)
  if not e[1] then break end
  local d = redis.call('hget', KEYS[2], e[1][2][2])
  if d and tonumber(d) > now then break end
  redis.call('xdel', KEYS[1], e[1][1]) redis.call('hdel', KEYS[2], e[1][2][2])
end
local d = redis.call('hget', KEYS[2], ARGV[1])
if d and tonumber(d) <= now then drop(ARGV[1]) d = false end
if not d then
  if ARGV[3] == 'try' and redis.call('xlen', KEYS[1]) > 0 then return 0 end
  redis.call('xadd', KEYS[1], '*', 'who', ARGV[1])
end
redis.call('hset', KEYS[2], ARGV[1], now + ARGV[2] + 1)
redis.call('pexpire', KEYS[1], ARGV[2] + 1) redis.call('pexpire', KEYS[2], ARGV[2] + 1)
if redis.call('xrange', KEYS[1], '-', '+', 'count', 1)[1][2][2] == ARGV[1] then return 1 end
return 0`, renew: luaNow + `
local d = redis.call('hget', KEYS[2], ARGV[1])
if not d or tonumber(d) <= now then return 0 end
redis.call('hset', KEYS[2], ARGV[1], now + ARGV[2] + 1)
redis.call('pexpire', KEYS[1], ARGV[2] + 1) redis.call('pexpire', KEYS[2], ARGV[2] + 1)
return 1`, free: luaNow + drop + `
local d = redis.call('hget', KEYS[2], ARGV[1])
redis.call('hdel', KEYS[2], ARGV[1])
drop(ARGV[1])
if redis.call('xlen', KEYS[1]) == 0 then redis.call('del', KEYS[1]) end
if not d or tonumber(d) <= now then return 0 end
return 1`}, nil
}

// digestFenceLock sends digests itself, and the source where the server does not know it; the script counts the fence with the grant.
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

// fieldLock is a field of one hash for all locks, with its token and its deadline by the server's clock. No key of it expires.
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

// batonLock has a list with one baton, which wakes a waiter; who finds no holder takes the lock, with a baton or without.
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

func (l *toldLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	ok, err := l.Redis.SetNX(ctx, "{"+l.Key+"}", token, l.TTL).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

func (l *toldLock) Lock(ctx context.Context) error {
	if ok, err := l.TryLock(ctx); ok || err != nil {
		return err
	}
	sub := l.Redis.Subscribe(ctx, "{"+l.Key+"}:free", "{"+l.Key+"}:events")
	defer sub.Close()
	for range 2 {
		if _, err := sub.Receive(ctx); err != nil {
			return err
		}
	}
	heard := sub.Channel()
	for {
		if ok, err := l.TryLock(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-heard:
		case <-time.After(l.TTL / 4):
		}
	}
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

// watch renews by renew until it is stopped, or the hold is lost; a hold asked for at an instant lasts a lease from then.
func watch(asked time.Time, lease time.Duration, renew func(context.Context) error) *dog {
	d := &dog{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(d.over)
		for {
			select {
			case <-d.stop:
				return
			case <-time.After(min(lease/4, time.Until(asked.Add(lease)))): // at once if the grant came late
			}
			begin := time.Now()
			ctx, cancel := context.WithDeadline(context.Background(), asked.Add(lease))
			err := renew(ctx)
			cancel()
			switch {
			case err == nil:
				asked = begin
			case errors.Is(err, errGone) || time.Since(asked) >= lease:
				close(d.lost)
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
	select {
	case <-d.stop:
	default:
		close(d.stop)
	}
	<-d.over
}

// dogLock renews, and reports its loss. It does not end for a client whose connections are closed.
type dogLock struct {
	owned
	dog *dog
}

func (l *dogLock) TryLock(ctx context.Context) (bool, error) {
	token, asked := l.next(), time.Now()
	ok, err := l.Redis.SetNX(ctx, l.Key, token, l.TTL).Result()
	if err != nil || !ok {
		return false, err
	}
	l.dog.end()
	l.token = token
	l.dog = watch(asked, l.TTL, func(ctx context.Context) error {
		return released(eval(ctx, l.Config, luaExtend, []string{l.Key}, token, l.TTL.Milliseconds()))
	})
	return true, nil
}

func (l *dogLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }
func (l *dogLock) Lost() <-chan struct{}          { return l.dog.lost }
func (l *dogLock) Close() error                   { l.dog.end(); return nil }
func (l *dogLock) Unlock(ctx context.Context) error {
	l.dog.end()
	return released(eval(ctx, l.Config, luaRelease, []string{l.Key}, l.token))
}

// deafDogLock is a dogLock whose watchdog goes on for ever once its connections are closed: only its process ends it.
type deafDogLock struct {
	owned
	stop chan struct{}
}

func (l *deafDogLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	ok, err := l.Redis.SetNX(ctx, l.Key, token, l.TTL).Result()
	if err != nil || !ok {
		return false, err
	}
	l.token, l.stop = token, make(chan struct{})
	go func(stop chan struct{}) {
		for {
			select {
			case <-stop:
				return
			case <-time.After(l.TTL / 3):
			}
			short, cancel := context.WithTimeout(context.Background(), l.TTL/3)
			err := released(eval(short, l.Config, luaExtend, []string{l.Key}, token, l.TTL.Milliseconds()))
			cancel()
			if errors.Is(err, errGone) {
				return
			}
		}
	}(l.stop)
	return true, nil
}

func (l *deafDogLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }
func (l *deafDogLock) Close() error {
	if l.stop != nil {
		close(l.stop)
		l.stop = nil
	}
	return nil
}
func (l *deafDogLock) Unlock(ctx context.Context) error {
	_ = l.Close()
	return released(eval(ctx, l.Config, luaRelease, []string{l.Key}, l.token))
}

// nestLock may be entered again; one watchdog keeps the nest, and one Lost tells of its end.
type nestLock struct {
	owned
	depth int
	dog   *dog
}

func (l *nestLock) TryLock(ctx context.Context) (bool, error) {
	if l.depth > 0 && !ended(l.dog.lost) {
		switch err := released(eval(ctx, l.Config, luaExtend, []string{l.Key}, l.token, l.TTL.Milliseconds())); {
		case err == nil && !ended(l.dog.lost):
			l.depth++
			return true, nil
		case err == nil: // its end was told meanwhile
			if _, err := eval(ctx, l.Config, luaRelease, []string{l.Key}, l.token); err != nil {
				return false, err
			}
		case !errors.Is(err, errGone):
			return false, err
		}
	}
	token, asked := l.next(), time.Now()
	ok, err := l.Redis.SetNX(ctx, l.Key, token, l.TTL).Result()
	if err != nil || !ok {
		return false, err
	}
	l.dog.end()
	l.token, l.depth = token, 1
	l.dog = watch(asked, l.TTL, func(ctx context.Context) error {
		return released(eval(ctx, l.Config, luaExtend, []string{l.Key}, token, l.TTL.Milliseconds()))
	})
	return true, nil
}

func (l *nestLock) Lock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryLock) }
func (l *nestLock) Lost() <-chan struct{}          { return l.dog.lost }
func (l *nestLock) Close() error                   { l.dog.end(); return nil }
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
	l.dog.end()
	return released(eval(ctx, l.Config, luaRelease, []string{l.Key}, l.token))
}

// dogRWLock is for readers and writers, each of whom renews.
type dogRWLock struct {
	owned
	readToken string
	write     *dog
	read      *dog
}

const (
	luaReadIn = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, ARGV[1])
if redis.call('pttl', KEYS[2]) < ARGV[2] + 1 then redis.call('pexpire', KEYS[2], ARGV[2] + 1) end
return 1`
	luaReadOn = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if not redis.call('zscore', KEYS[2], ARGV[1]) then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, ARGV[1])
if redis.call('pttl', KEYS[2]) < ARGV[2] + 1 then redis.call('pexpire', KEYS[2], ARGV[2] + 1) end
return 1`
	luaReadOut = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
return redis.call('zrem', KEYS[2], ARGV[1])`
	luaWriteIn = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if redis.call('zcard', KEYS[2]) > 0 then return 0 end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`
)

func (l *dogRWLock) on(ctx context.Context, source, token string) error {
	return released(l.run(ctx, source, []string{":writer", ":readers"}, token, l.TTL.Milliseconds()))
}

func (l *dogRWLock) TryLock(ctx context.Context) (bool, error) {
	token, asked := l.next(), time.Now()
	if err := l.on(ctx, luaWriteIn, token); errors.Is(err, errGone) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	l.write.end()
	l.token = token
	l.write = watch(asked, l.TTL, func(ctx context.Context) error { return l.on(ctx, luaExtend, token) })
	return true, nil
}

func (l *dogRWLock) TryRLock(ctx context.Context) (bool, error) {
	token, asked := l.next(), time.Now()
	if err := l.on(ctx, luaReadIn, token); errors.Is(err, errGone) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	l.read.end()
	l.readToken = token
	l.read = watch(asked, l.TTL, func(ctx context.Context) error { return l.on(ctx, luaReadOn, token) })
	return true, nil
}

func (l *dogRWLock) Lock(ctx context.Context) error  { return polls(ctx, l.Poll, l.TryLock) }
func (l *dogRWLock) RLock(ctx context.Context) error { return polls(ctx, l.Poll, l.TryRLock) }
func (l *dogRWLock) Close() error                    { l.write.end(); l.read.end(); return nil }
func (l *dogRWLock) Unlock(ctx context.Context) error {
	l.write.end()
	return l.on(ctx, luaRelease, l.token)
}
func (l *dogRWLock) RUnlock(ctx context.Context) error {
	l.read.end()
	return l.on(ctx, luaReadOut, l.readToken)
}

// wildControls are controls in which a false alarm was raised from outside.
func wildControls() []control {
	base := func(c Config) owned { return owned{Config: c} }
	return []control{
		{name: "has its holder and its line in one sorted set", make: newArrivals},
		{name: "has tickets, the lowest of which holds", make: newTickets},
		{name: "has a stream as its line", make: newStreamLine, lacks: "XRANGE"},
		{name: "sends digests, and counts its fence with the grant", make: func(c Config) (any, error) { return &digestFenceLock{owned: base(c)}, nil }},
		{name: "is a field of one hash for all locks", make: func(c Config) (any, error) { return &fieldLock{base(c)}, nil }},
		{name: "has a baton", make: func(c Config) (any, error) { return &batonLock{base(c)}, nil }},
		{name: "publishes a release on two channels", make: func(c Config) (any, error) { return &toldLock{base(c)}, nil }},
		{name: "is a semaphore of keys", make: func(c Config) (any, error) { return &slotLock{owned: base(c)}, nil }, options: []Option{Promises("permits")}},
		{name: "renews, and reports its loss by its own clock", make: func(c Config) (any, error) { return &dogLock{owned: base(c)}, nil }, options: []Option{Promises("renews")}},
		{name: "renews for as long as its process lives", make: func(c Config) (any, error) { return &deafDogLock{owned: base(c)}, nil }, options: []Option{Promises("renews")}},
		{name: "may be entered again, renews, and reports its loss", make: func(c Config) (any, error) { return &nestLock{owned: base(c)}, nil }, options: []Option{Promises("reentrant", "renews")}},
		{name: "is for readers and writers, who renew", make: func(c Config) (any, error) { return &dogRWLock{owned: base(c)}, nil }, options: []Option{Promises("renews")}},
	}
}
