package locktest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/internal/resp"
)

// Locks of other kinds than those in locks_test.go. A field is a variation or a bug.

// polls calls try until it is granted, fails, or ctx ends.
func polls(ctx context.Context, every time.Duration, try func(context.Context) (bool, error)) error {
	for {
		if ok, err := try(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// eval runs a script that returns a number.
func eval(ctx context.Context, c Config, source string, keys []string, args ...any) (int, error) {
	return redis.NewScript(source).Run(ctx, c.Redis, keys, args...).Int()
}

// released returns the error for a release script's result.
func released(n int, err error) error {
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

// queueLock grants in order of arrival. Beside the lock's key it has the queue, the time at which each waiter was last seen, and a counter of places.
type queueLock struct {
	Config
	token string
	round int

	immortal bool // bug: a waiter that died stays in the queue
	stays    bool // bug: a waiter that gives up stays in the queue until it counts as dead
}

const luaQueue = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[4] == '1' then
  for _, dead in ipairs(redis.call('zrangebyscore', KEYS[3], '-inf', now)) do
    redis.call('zrem', KEYS[2], dead)
    redis.call('zrem', KEYS[3], dead)
  end
end
if ARGV[3] == 'wait' then
  if not redis.call('zscore', KEYS[2], ARGV[1]) then
    redis.call('zadd', KEYS[2], redis.call('incr', KEYS[4]), ARGV[1])
  end
  redis.call('zadd', KEYS[3], now + ARGV[2] / 2, ARGV[1])
end
local head = redis.call('zrange', KEYS[2], 0, 0)[1]
if redis.call('exists', KEYS[1]) == 1 or head and head ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('zrem', KEYS[3], ARGV[1])
return 1`

func (l *queueLock) keys() []string {
	k := "{" + l.Key + "}"
	return []string{k, k + ":queue", k + ":seen", k + ":places"}
}

func (l *queueLock) ask(ctx context.Context, token, how string) (bool, error) {
	clean := "1"
	if l.immortal {
		clean = "0"
	}
	n, err := eval(ctx, l.Config, luaQueue, l.keys(), token, l.TTL.Milliseconds(), how, clean)
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *queueLock) next() string {
	l.round++
	return fmt.Sprint(l.Owner, "-", l.round, "-", time.Now().UnixNano())
}

func (l *queueLock) TryLock(ctx context.Context) (bool, error) { return l.ask(ctx, l.next(), "try") }

func (l *queueLock) Lock(ctx context.Context) error {
	token := l.next()
	err := polls(ctx, l.Poll, func(ctx context.Context) (bool, error) { return l.ask(ctx, token, "wait") })
	if err != nil && !l.stays {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/4)
		defer cancel()
		p := l.Redis.TxPipeline()
		p.ZRem(undo, l.keys()[1], token)
		p.ZRem(undo, l.keys()[2], token)
		_, _ = p.Exec(undo)
		_, _ = eval(undo, l.Config, luaRelease, l.keys()[:1], token)
	}
	return err
}

func (l *queueLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaRelease, l.keys()[:1], l.token))
}

// fencedLock counts its grants in a key without expiry.
type fencedLock struct {
	Config
	token string
	fence uint64

	apart  bool // bug: counts first and then takes the lock
	narrow bool // bug: the fence has 32 bits, one of them a sign
	reset  bool // bug: the count expires with the lease
	daily  bool // bug: the count expires after a day
	after  bool // bug: takes the lock and then counts
	timely bool // bug: a second of the server's clock has room for a thousand fences
}

const luaFence = `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local n = redis.call('incr', KEYS[2])
if ARGV[3] ~= '0' then redis.call('pexpire', KEYS[2], ARGV[3]) end
return n`

const luaTimelyFence = `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local t = redis.call('time')
local n = redis.call('incr', KEYS[2] .. t[1])
redis.call('pexpire', KEYS[2] .. t[1], 2000)
return t[1] * 1000 + n`

func (l *fencedLock) keys() []string { return []string{"{" + l.Key + "}", "{" + l.Key + "}.grants"} }

func (l *fencedLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	if l.apart {
		n, err := l.Redis.Incr(ctx, l.keys()[1]).Result()
		if err != nil {
			return false, err
		}
		time.Sleep(time.Duration(n%3) * l.TTL / 60)
		ok, err := l.Redis.SetNX(ctx, l.keys()[0], token, l.TTL).Result()
		if ok {
			l.token, l.fence = token, uint64(n)
		}
		return ok, err
	}
	if l.after {
		ok, err := l.Redis.SetNX(ctx, l.keys()[0], token, l.TTL).Result()
		if !ok {
			return ok, err
		}
		n, err := l.Redis.Incr(ctx, l.keys()[1]).Result()
		l.token, l.fence = token, uint64(n)
		return err == nil, err
	}
	keeps := time.Duration(0)
	switch {
	case l.reset:
		keeps = l.TTL
	case l.daily:
		keeps = 24 * time.Hour
	}
	take := luaFence
	if l.timely {
		take = luaTimelyFence
	}
	n, err := eval(ctx, l.Config, take, l.keys(), token, l.TTL.Milliseconds(), keeps.Milliseconds())
	if n > 0 {
		l.token, l.fence = token, uint64(n)
	}
	if l.narrow {
		l.fence &= 1<<31 - 1
	}
	return n > 0, err
}

func (l *fencedLock) Fence() uint64 { return l.fence }

func (l *fencedLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaRelease, l.keys()[:1], l.token))
}

// quorumLock is one lock on several masters.
type quorumLock struct {
	Config
	token string

	half    bool // bug: half of the nodes are enough
	keeps   bool // bug: a failed attempt keeps its votes
	forgets bool // bug: releases only on the nodes that granted
	got     []redis.UniversalClient
}

func (l *quorumLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	begin := time.Now()
	l.got = nil
	answered := 0
	var last error
	for _, n := range l.Nodes {
		short, cancel := context.WithTimeout(ctx, l.TTL/20)
		ok, err := n.SetNX(short, l.Key, token, l.TTL).Result()
		cancel()
		if err == nil {
			answered++
		}
		if ok {
			l.got = append(l.got, n)
		}
		last = errors.Join(last, err)
	}
	need := len(l.Nodes)/2 + 1
	if l.half {
		need = len(l.Nodes) / 2
	}
	if len(l.got) >= need && time.Since(begin) < l.TTL*9/10 {
		l.token = token
		return true, nil
	}
	if !l.keeps {
		_ = l.end(context.WithoutCancel(ctx), token)
	}
	if answered >= need {
		return false, nil
	}
	return false, last
}

func (l *quorumLock) end(ctx context.Context, token string) (err error) {
	all := l.Nodes
	if l.forgets {
		all = l.got
	}
	done := 0
	for _, n := range all {
		short, cancel := context.WithTimeout(ctx, l.TTL/20)
		e := redis.NewScript(luaRelease).Run(short, n, []string{l.Key}, token).Err()
		if err = errors.Join(err, e); e == nil {
			done++
		}
		cancel()
	}
	if done > len(l.Nodes)/2 {
		return nil
	}
	return err
}

func (l *quorumLock) Unlock(ctx context.Context) error {
	if l.token == "" {
		return errGone
	}
	token := l.token
	l.token = ""
	return l.end(ctx, token)
}

// trailingLock returns from a release when a majority has replied; the last master is asked a little later than the others.
type trailingLock struct {
	quorumLock
	background sync.WaitGroup
}

func (l *trailingLock) Unlock(ctx context.Context) error {
	if l.token == "" {
		return errGone
	}
	key, token := []string{l.Key}, l.token
	l.token = ""
	replies := make(chan error, len(l.Nodes))
	for i, n := range l.Nodes {
		l.background.Go(func() {
			if i == len(l.Nodes)-1 {
				time.Sleep(100 * time.Microsecond)
			}
			short, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/20)
			defer cancel()
			replies <- redis.NewScript(luaRelease).Run(short, n, key, token).Err()
		})
	}
	var all error
	done := 0
	for range l.Nodes {
		err := <-replies
		if all = errors.Join(all, err); err != nil {
			continue
		}
		if done++; done > len(l.Nodes)/2 {
			return nil
		}
	}
	return all
}

func (l *trailingLock) Close() error {
	l.background.Wait()
	return nil
}

// wireLock writes requests itself, over its own pool of connections.
type wireLock struct {
	Config
	addressOnly bool // dials with net.Dial
	mu          sync.Mutex
	idle        []net.Conn
	token       string

	hoards bool // bug: never reuses a connection
}

func (l *wireLock) conn(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 && !l.hoards {
		c := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return c, nil
	}
	l.mu.Unlock()
	if l.addressOnly {
		return net.Dial("tcp", l.Addrs[0])
	}
	return l.Dial(ctx, "tcp", l.Addrs[0])
}

// call sends a request and reads a reply of one line, or a short string. It does not reuse a failed connection.
func (l *wireLock) call(ctx context.Context, words ...string) (string, error) {
	c, err := l.conn(ctx)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	_, err = c.Write(resp.AppendRequest(nil, words...))
	var line string
	if err == nil {
		line, err = bufio.NewReader(c).ReadString('\n')
	}
	if !stop() || err != nil {
		return "", errors.Join(err, ctx.Err(), c.Close())
	}
	l.mu.Lock()
	l.idle = append(l.idle, c)
	l.mu.Unlock()
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
		return "", errors.New(line[1:])
	}
	return line, nil
}

func (l *wireLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	line, err := l.call(ctx, "SET", l.Key, token, "NX", "PX", strconv.FormatInt(l.TTL.Milliseconds(), 10))
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/4)
		defer cancel()
		_, _ = l.call(undo, "EVAL", luaRelease, "1", l.Key, token)
		return false, err
	}
	if line == "+OK" {
		l.token = token
	}
	return line == "+OK", nil
}

func (l *wireLock) Unlock(ctx context.Context) error {
	line, err := l.call(ctx, "EVAL", luaRelease, "1", l.Key, l.token)
	if err == nil && line != ":1" {
		err = errGone
	}
	return err
}

func (l *wireLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.idle {
		_ = c.Close()
	}
	l.idle = nil
	return nil
}

// stampLock keeps its deadline in its value, by the server's clock. Its key never expires, or later.
type stampLock struct {
	Config
	token string

	sweeps bool          // its key expires, a lease after its deadline
	early  time.Duration // bug: leases longer than an hour end so much earlier
	late   time.Duration // bug: … so much later
}

const luaStamp = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local v = redis.call('hget', KEYS[1], 'until')
if v and tonumber(v) >= now then return 0 end
redis.call('hset', KEYS[1], 'until', now + ARGV[2], 'token', ARGV[1])
if ARGV[3] == '1' then redis.call('pexpire', KEYS[1], 2 * ARGV[2]) end
return 1`

const luaUnstamp = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if redis.call('hget', KEYS[1], 'token') ~= ARGV[1] or tonumber(redis.call('hget', KEYS[1], 'until')) < now then return 0 end
return redis.call('del', KEYS[1])`

func (l *stampLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	lease := l.TTL
	if lease > time.Hour {
		lease += l.late - l.early
	}
	n, err := eval(ctx, l.Config, luaStamp, []string{l.Key}, token, lease.Milliseconds(), flag(l.sweeps))
	if n == 1 {
		l.token = token
	}
	return n == 1, err
}

func (l *stampLock) Unlock(ctx context.Context) error {
	return released(eval(ctx, l.Config, luaUnstamp, []string{l.Key}, l.token))
}

// wakeLock has a list of wake-ups beside its key, on which waiters block.
type wakeLock struct {
	Config
	token string

	flat    bool // bug: the list's name may be that of another lock
	orphans bool // bug: an unused wake-up stays
	early   bool // bug: wakes before the lock is free
	mute    bool // bug: wakes no waiter
	deaf    bool // bug: a waiter that gave up takes the next wake-up
}

const luaWake = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' or redis.call('llen', KEYS[2]) == 0 then redis.call('lpush', KEYS[2], 1) end
if ARGV[2] ~= '0' then redis.call('pexpire', KEYS[2], ARGV[3]) end
return redis.call('del', KEYS[1])`

func (l *wakeLock) keys() []string {
	if l.flat {
		return []string{l.Key, l.Key + ":wake"}
	}
	return []string{"{" + l.Key + "}", "{" + l.Key + "}:wake"}
}

func (l *wakeLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	ok, err := l.Redis.SetNX(ctx, l.keys()[0], token, l.TTL).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

func (l *wakeLock) Lock(ctx context.Context) error {
	for {
		if ok, err := l.TryLock(ctx); ok || err != nil {
			return err
		}
		woken := make(chan error, 1)
		life := ctx
		if l.deaf {
			life = context.WithoutCancel(ctx)
		}
		go func() { woken <- l.Redis.BLPop(life, time.Second, l.keys()[1]).Err() }() // BLPOP counts in seconds
		select {
		case err := <-woken:
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *wakeLock) Unlock(ctx context.Context) error {
	switch {
	case l.mute:
		return released(eval(ctx, l.Config, luaRelease, l.keys()[:1], l.token))
	case l.early:
		l.Redis.LPush(ctx, l.keys()[1], 1)
		time.Sleep(5 * time.Millisecond)
		return released(eval(ctx, l.Config, luaRelease, l.keys()[:1], l.token))
	}
	return released(eval(ctx, l.Config, luaWake, l.keys(), l.token, flag(!l.orphans), l.TTL.Milliseconds()))
}
