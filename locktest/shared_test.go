package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// rwLock has shared and exclusive modes. Readers are members of a sorted set with their deadlines.
type rwLock struct {
	Config
	read, write string // tokens
	round       int
	slow        time.Duration // the poll interval; 0: Config.Poll
	noDowngrade bool          // a writer can't read as well
	gap         bool          // bug: a writer that asks to read leaves the write side first

	leaks     bool // bug: a reader that leaves stays for its lease
	blind     bool // bug: an RUnlock frees the write side as well
	counts    bool // bug: an upgrade removes the last reader, whichever it is
	sleeps    bool // waits for a publication
	unwoken   bool // bug: a downgrade publishes nothing
	allLeases bool // bug: a new reader extends all
	shortens  bool // bug: the readers' key ends with the lease of the last to come
	clears    bool // bug: a writer that leaves late clears the readers
	byOwner   bool // bug: a reader that leaves takes all along whose tokens begin with its name
	signs     bool // bug: a TryLock that readers refuse leaves a sign, without an end, at which new readers are refused
}

const luaRead = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
local w = redis.call('get', KEYS[1])
if w and w ~= ARGV[3] or redis.call('exists', KEYS[4]) == 1 then return 0 end
if ARGV[4] == '1' then
  for _, m in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do redis.call('zadd', KEYS[2], now + ARGV[2], m) end
end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
if ARGV[5] == '1' or redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[2], ARGV[2]) end
return 1`

const luaWrite = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
local most = tonumber(ARGV[3])
if redis.call('exists', KEYS[1]) == 1 then return 0 end
if redis.call('zcard', KEYS[2]) > most then
  if ARGV[4] == '1' then redis.call('set', KEYS[4], ARGV[1]) end
  return 0
end
redis.call('del', KEYS[4])
if most > 0 then redis.call('del', KEYS[2]) end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

const luaUnread = `
if ARGV[2] == '1' then redis.call('del', KEYS[1]) end
local n = redis.call('zrem', KEYS[2], ARGV[1])
if n == 1 then redis.call('publish', KEYS[3], 'free') end
return n`

const luaUnreadAll = `
local n = 0
for _, m in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
  if string.sub(m, 1, #ARGV[1]) == ARGV[1] then n = n + redis.call('zrem', KEYS[2], m) end
end
return n`

const luaUnwrite = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
if ARGV[2] == '1' and redis.call('exists', KEYS[2]) == 1 then return 1 end
redis.call('publish', KEYS[3], 'free')
return 1`

func (l *rwLock) keys() []string {
	k := "{" + l.Key + "}"
	return []string{k + ":w", k + ":r", k + ":free", k + ":sign"}
}

func (l *rwLock) next() string {
	l.round++
	return fmt.Sprint(l.Owner, "-", l.round, "-", time.Now().UnixNano())
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func (l *rwLock) tryRead(ctx context.Context) (bool, error) {
	own := l.write
	if own == "" || l.noDowngrade {
		own = "nobody"
	}
	if l.gap && l.write != "" {
		if err := l.Unlock(ctx); err != nil {
			return false, err
		}
	}
	token := l.next()
	n, err := eval(ctx, l.Config, luaRead, l.keys(), token, l.TTL.Milliseconds(), own, flag(l.allLeases), flag(l.shortens))
	if n == 1 {
		l.read = token
	}
	return n == 1, err
}

func (l *rwLock) TryLock(ctx context.Context) (bool, error) { return l.tryWrite(ctx, l.signs) }

func (l *rwLock) tryWrite(ctx context.Context, signs bool) (bool, error) {
	token := l.next()
	most := 0
	if l.counts {
		most = 1
	}
	n, err := eval(ctx, l.Config, luaWrite, l.keys(), token, l.TTL.Milliseconds(), most, flag(signs))
	if n == 1 {
		l.write = token
	}
	return n == 1, err
}

func (l *rwLock) wait(ctx context.Context, try func(context.Context) (bool, error)) error {
	every := l.Poll
	if l.slow > 0 {
		every = l.slow
	}
	if !l.sleeps {
		return polls(ctx, every, try)
	}
	sub := l.Redis.Subscribe(ctx, l.keys()[2])
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		return errors.Join(err, ctx.Err())
	}
	for {
		if ok, err := try(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sub.Channel():
		case <-time.After(l.TTL / 2):
		}
	}
}

func (l *rwLock) Lock(ctx context.Context) error {
	return l.wait(ctx, func(ctx context.Context) (bool, error) { return l.tryWrite(ctx, false) })
}

func (l *rwLock) RLock(ctx context.Context) error { return l.wait(ctx, l.tryRead) }

func (l *rwLock) Unlock(ctx context.Context) error {
	if l.clears {
		defer func() {
			if n, _ := l.Redis.Exists(context.WithoutCancel(ctx), l.keys()[0]).Result(); n == 0 {
				l.Redis.Del(context.WithoutCancel(ctx), l.keys()[1])
			}
		}()
	}
	return released(eval(ctx, l.Config, luaUnwrite, l.keys(), l.write, flag(l.unwoken)))
}

func (l *rwLock) RUnlock(ctx context.Context) error {
	switch {
	case l.leaks:
		return nil
	case l.byOwner:
		return released(eval(ctx, l.Config, luaUnreadAll, l.keys(), l.Owner))
	}
	return released(eval(ctx, l.Config, luaUnread, l.keys(), l.read, flag(l.blind)))
}

// tryingLock is for readers and writers, none of whom can wait.
type tryingLock struct {
	l *rwLock

	reckless bool // bug: a reader is granted the lock whatever the server says
}

func (l tryingLock) TryLock(ctx context.Context) (bool, error) { return l.l.TryLock(ctx) }
func (l tryingLock) Unlock(ctx context.Context) error          { return l.l.Unlock(ctx) }
func (l tryingLock) RUnlock(ctx context.Context) error         { return l.l.RUnlock(ctx) }

func (l tryingLock) TryRLock(ctx context.Context) (bool, error) {
	ok, err := l.l.tryRead(ctx)
	return ok || l.reckless, err
}

// extendingLock is for readers and writers, who may extend.
type extendingLock struct {
	*rwLock

	pretends bool // bug: a reader's extend says nil and does nothing
}

const luaExtendRead = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local till = redis.call('zscore', KEYS[2], ARGV[1])
if not till or tonumber(till) <= now then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[2], ARGV[2]) end
return 1`

func (l extendingLock) Extend(ctx context.Context) error {
	n, err := eval(ctx, l.Config, luaExtend, l.keys()[:1], l.write, l.TTL.Milliseconds())
	if err != nil || n == 1 {
		return err
	}
	if l.pretends && l.read != "" {
		return nil
	}
	return released(eval(ctx, l.Config, luaExtendRead, l.keys(), l.read, l.TTL.Milliseconds()))
}

// nestedLock is re-entrant: a hash of owners and their entries. The first entry starts its watchdog.
type nestedLock struct {
	Config
	mu    sync.Mutex // between the watchdog and the client
	depth int
	stop  context.CancelFunc
	all   []context.CancelFunc
	once  sync.Once

	renew    bool
	oneArm   bool // bug: the watchdog of the first hold is the only one
	halfStop bool // bug: an inner release stops the watchdog
	forgets  bool // bug: a second entry is counted as the first
	perEntry bool // bug: each entry starts a watchdog
}

const luaEnter = `
local n = redis.call('hget', KEYS[1], ARGV[1])
if not n and redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`

const luaLeave = `
local n = redis.call('hget', KEYS[1], ARGV[1])
if not n then return 0 end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) <= 0 then redis.call('del', KEYS[1]) else redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1`

const luaStay = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`

func (l *nestedLock) run(ctx context.Context, source string) (int, error) {
	return eval(ctx, l.Config, source, []string{l.Key}, l.Owner, l.TTL.Milliseconds())
}

func (l *nestedLock) TryLock(ctx context.Context) (bool, error) {
	enter := luaEnter
	if l.forgets {
		enter = strings.Replace(luaEnter, "hincrby", "hset", 1)
	}
	n, err := l.run(ctx, enter)
	if n != 1 || err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.depth++
	arm := func() {
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.all = stop, append(l.all, stop)
		go l.watch(ctx)
	}
	switch {
	case !l.renew:
	case l.oneArm:
		l.once.Do(arm)
	case l.stop == nil || l.perEntry:
		arm()
	}
	return true, nil
}

func (l *nestedLock) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.TTL / 3):
		}
		if n, err := l.run(ctx, luaStay); n == 0 && err == nil {
			return
		}
	}
}

func (l *nestedLock) Unlock(ctx context.Context) error {
	n, err := l.run(ctx, luaLeave)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.depth--; l.depth <= 0 || l.halfStop {
		l.disarm()
	}
	l.depth = max(l.depth, 0)
	return released(n, err)
}

func (l *nestedLock) disarm() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

func (l *nestedLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stop := range l.all {
		stop()
	}
	return nil
}
