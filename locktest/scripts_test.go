package locktest

import (
	"context"
	"time"
)

// Locks by scripts, each as a value.

// luaNow gives scripts the time in milliseconds.
const luaNow = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`

// queued grants in order of arrival. Beside the lock's key it has the queue, the time at which each
// waiter was last seen, and a counter of places.
func queued(clean string) scripted {
	return scripted{ends: []string{"", ":queue", ":seen", ":places"}, take: luaNow + clean + `
if ARGV[3] == 'wait' then
  if not redis.call('zscore', KEYS[2], ARGV[1]) then redis.call('zadd', KEYS[2], redis.call('incr', KEYS[4]), ARGV[1]) end
  redis.call('zadd', KEYS[3], now + ARGV[2] / 2, ARGV[1])
end
local head = redis.call('zrange', KEYS[2], 0, 0)[1]
if redis.call('exists', KEYS[1]) == 1 or head and head ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('zrem', KEYS[3], ARGV[1])
return 1`, free: `
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('zrem', KEYS[3], ARGV[1])
` + luaRelease}
}

// luaClean takes those out of the queue that were not seen for long.
const luaClean = `
for _, dead in ipairs(redis.call('zrangebyscore', KEYS[3], '-inf', now)) do
  redis.call('zrem', KEYS[2], dead)
  redis.call('zrem', KEYS[3], dead)
end
`

// numbered counts its grants in a key without expiry, or one that expires.
func numbered(expires string) scripted {
	return scripted{ends: []string{"", ".grants"}, free: luaRelease, take: `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local n = redis.call('incr', KEYS[2])
` + expires + `
return n`}
}

// narrow gives a lock fences of 32 bits, one of them a sign.
func narrow(s scripted) scripted {
	s.fences = func(n int) uint64 { return uint64(n) & (1<<31 - 1) }
	return s
}

// staying lets who gives up waiting stay in the line.
func staying(s scripted) scripted {
	s.stays = true
	return s
}

// timely: a second of the server's clock has room for a thousand fences.
func timely() scripted {
	return scripted{ends: []string{"", ".grants"}, free: luaRelease, take: `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local t = redis.call('time')
local n = redis.call('incr', KEYS[2] .. t[1])
redis.call('pexpire', KEYS[2] .. t[1], 2000)
return t[1] * 1000 + n`}
}

// twoStep takes the lock in one request and counts in another.
type twoStep struct {
	plain
	fence uint64
	first bool // counts first
}

func (l *twoStep) TryLock(ctx context.Context) (ok bool, err error) {
	count := func() (n int64, err error) { return l.Redis.Incr(ctx, l.Key+".grants").Result() }
	var n int64
	if l.first {
		if n, err = count(); err != nil {
			return false, err
		}
		time.Sleep(time.Duration(n%3) * l.TTL / 60)
	}
	if ok, err = l.takes(ctx, l.Key); ok && !l.first {
		n, err = count()
	}
	if ok {
		l.fence = uint64(n)
	}
	return ok && err == nil, err
}

func (l *twoStep) Fence() uint64 { return l.fence }

// stamped keeps its deadline in its value, by the server's clock. Its key never expires, or as
// sweep says. moves may change the lease.
func stamped(moves, sweep string) scripted {
	return scripted{ends: []string{""}, take: luaNow + `
local v = redis.call('hget', KEYS[1], 'until')
if v and tonumber(v) >= now then return 0 end
local lease = tonumber(ARGV[2])
` + moves + `
redis.call('hset', KEYS[1], 'until', now + lease, 'token', ARGV[1])
` + sweep + `
return 1`, free: luaNow + `
if redis.call('hget', KEYS[1], 'token') ~= ARGV[1] or tonumber(redis.call('hget', KEYS[1], 'until')) < now then return 0 end
return redis.call('del', KEYS[1])`}
}

const luaSweep = `redis.call('pexpire', KEYS[1], 2 * lease)`

// scored is a sorted set with room for one member, whose score is its deadline by the server's
// clock.
func scored() scripted {
	return scripted{ends: []string{""}, take: luaNow + `
redis.call('zremrangebyscore', KEYS[1], '-inf', '(' .. now)
if redis.call('zcard', KEYS[1]) > 0 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`, free: `return redis.call('zrem', KEYS[1], ARGV[1])`}
}

// clocked takes its fences from the server's clock, or the one after the last where that has not
// moved on.
func clocked() scripted {
	return scripted{ends: []string{"", ":last"}, free: luaRelease, take: `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local t = redis.call('time')
local n = t[1] * 1000000 + t[2]
local last = tonumber(redis.call('get', KEYS[2]) or 0)
if n <= last then n = last + 1 end
redis.call('set', KEYS[2], string.format('%d', n))
return n`}
}

// hashed keeps its holder, the end of its lease by the server's clock, and the count of its grants
// in one hash, which stays. The clock is cut to milliseconds, so the lease lasts through the
// millisecond in which it ends: a hold of whole milliseconds is never cut short.
func hashed() scripted {
	const ends = luaNow + `local ends = tonumber(redis.call('hget', KEYS[1], 'ends') or '0')
`
	return scripted{ends: []string{""}, take: ends + `
if ends >= now then return 0 end
redis.call('hset', KEYS[1], 'ends', string.format('%.0f', now + ARGV[2]), 'token', ARGV[1])
return redis.call('hincrby', KEYS[1], 'grants', 1)`, free: ends + `
if redis.call('hget', KEYS[1], 'token') ~= ARGV[1] or ends < now then return 0 end
return redis.call('hdel', KEYS[1], 'ends', 'token')`}
}

// handing writes the next waiter's token into its key, whose lease goes on.
func handing() scripted {
	return scripted{ends: []string{"", ":line"}, take: `
if redis.call('get', KEYS[1]) == ARGV[1] then return 1 end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if ARGV[3] == 'wait' then redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2]) end
return 0`, free: `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('get', KEYS[2])
redis.call('del', KEYS[2])
if next then redis.call('set', KEYS[1], next, 'KEEPTTL') else redis.call('del', KEYS[1]) end
return 1`}
}

// listed is a list of one.
func listed() scripted {
	return scripted{ends: []string{""}, take: `
if redis.call('llen', KEYS[1]) > 0 then return 0 end
redis.call('rpush', KEYS[1], ARGV[1])
return redis.call('pexpire', KEYS[1], ARGV[2])`, free: `return redis.call('lrem', KEYS[1], 0, ARGV[1])`}
}

// streamed is a stream of one.
func streamed() scripted {
	return scripted{ends: []string{""}, take: `
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('xadd', KEYS[1], '*', 'token', ARGV[1])
return redis.call('pexpire', KEYS[1], ARGV[2])`, free: `
local e = redis.call('xrange', KEYS[1], '-', '+', 'COUNT', 1)
if not e[1] or e[1][2][2] ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])`}
}

// threefold has three keys.
func threefold() scripted {
	return scripted{ends: []string{"a", "b", "c"}, take: `
for _, k in ipairs(KEYS) do if redis.call('exists', k) == 1 then return 0 end end
for _, k in ipairs(KEYS) do redis.call('set', k, ARGV[1], 'PX', ARGV[2]) end
return 1`, free: `
local n = 0
for _, k in ipairs(KEYS) do if redis.call('get', k) == ARGV[1] then n = redis.call('del', k) end end
return n`}
}

// bit is a bit, with its token beside it.
func bit() scripted {
	return scripted{ends: []string{":bit", ":token"}, take: `
if redis.call('setbit', KEYS[1], 0, 1) == 1 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`, free: `
if redis.call('get', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1], KEYS[2])
return 1`}
}

// littering keeps a key for each token.
func littering() scripted {
	return scripted{ends: []string{"", ":seen:"}, free: luaRelease, take: `
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('incr', KEYS[2] .. ARGV[1])`}
}

// arrivals keeps holder and line in one sorted set by arrival, whose first member holds; another
// has each member's deadline.
func arrivals() scripted {
	const stay = `
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2] + 1) redis.call('pexpire', KEYS[2], ARGV[2] + 1)
`
	return scripted{ends: []string{":line", ":until"}, take: luaNow + `
for _, m in ipairs(redis.call('zrangebyscore', KEYS[2], '-inf', now)) do
  redis.call('zrem', KEYS[1], m) redis.call('zrem', KEYS[2], m)
end
if not redis.call('zscore', KEYS[1], ARGV[1]) then
  if ARGV[3] == 'try' and redis.call('zcard', KEYS[1]) > 0 then return 0 end
  local last = redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')
  redis.call('zadd', KEYS[1], (tonumber(last[2]) or 0) + 1, ARGV[1])
end` + stay + `
if redis.call('zrank', KEYS[1], ARGV[1]) == 0 then return 1 end
return 0`, more: luaNow + `
local d = redis.call('zscore', KEYS[2], ARGV[1])
if not d or tonumber(d) <= now then return 0 end` + stay + `
return 1`, free: luaNow + `
local d = redis.call('zscore', KEYS[2], ARGV[1])
redis.call('zrem', KEYS[2], ARGV[1])
local n = redis.call('zrem', KEYS[1], ARGV[1])
if d and tonumber(d) <= now then return 0 end
return n`}
}

// ticketed draws tickets by INCR; the lowest live one holds, and is the fence.
func ticketed() scripted {
	const find = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
local function number(m) return tonumber(string.match(m, '^%d+')) end
local all, mine = redis.call('zrange', KEYS[2], 0, -1), nil
for _, m in ipairs(all) do
  if string.match(m, '^%d+:(.*)') == ARGV[1] then mine = m end
end
`
	return scripted{ends: []string{":next", ":live"}, take: find + `
if not mine then
  if ARGV[3] == 'try' and #all > 0 then return 0 end
  mine = string.format('%d', redis.call('incr', KEYS[1])) .. ':' .. ARGV[1]
end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, mine)
redis.call('pexpire', KEYS[2], ARGV[2] + 1)
for _, m in ipairs(all) do if number(m) < number(mine) then return 0 end end
return number(mine)`, more: find + `
if not mine then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2] + 1, mine)
return redis.call('pexpire', KEYS[2], ARGV[2] + 1)`, free: find + `
if not mine then return 0 end
return redis.call('zrem', KEYS[2], mine)`}
}

// streamLine has a stream as its line; a hash has the deadlines.
func streamLine() scripted {
	const look = luaNow + `
local function drop(who)
  for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do
    if e[2][2] == who then redis.call('xdel', KEYS[1], e[1]) end
  end
end
local d = redis.call('hget', KEYS[2], ARGV[1])
local live = d and tonumber(d) > now
`
	const stay = `
redis.call('hset', KEYS[2], ARGV[1], now + ARGV[2] + 1)
redis.call('pexpire', KEYS[1], ARGV[2] + 1) redis.call('pexpire', KEYS[2], ARGV[2] + 1)
`
	return scripted{ends: []string{":line", ":until"}, take: look + `
while true do
  local e = redis.call('xrange', KEYS[1], '-', '+', 'count', 1)
  if not e[1] then break end
  local d = redis.call('hget', KEYS[2], e[1][2][2])
  if d and tonumber(d) > now then break end
  redis.call('xdel', KEYS[1], e[1][1]) redis.call('hdel', KEYS[2], e[1][2][2])
end
if not live then
  drop(ARGV[1])
  if ARGV[3] == 'try' and redis.call('xlen', KEYS[1]) > 0 then return 0 end
  redis.call('xadd', KEYS[1], '*', 'who', ARGV[1])
end` + stay + `
if redis.call('xrange', KEYS[1], '-', '+', 'count', 1)[1][2][2] == ARGV[1] then return 1 end
return 0`, more: look + `
if not live then return 0 end` + stay + `
return 1`, free: look + `
redis.call('hdel', KEYS[2], ARGV[1])
drop(ARGV[1])
if redis.call('xlen', KEYS[1]) == 0 then redis.call('del', KEYS[1]) end
if not live then return 0 end
return 1`}
}
