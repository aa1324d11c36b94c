-- name: handoff_take.lua
-- Takes the lock in order of arrival: if it is free and no other token is earlier in the queue. A
-- free lock is granted to the first of the queue, whichever client calls. A waiting client gets a
-- place in the queue, which it must renew by calling again before the place ends. Called again with
-- the same token it grants again.
-- KEYS[1] the holder's token; KEYS[2] the counter of fences and tickets, which never expires
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
-- ARGV[1] token; ARGV[2] lease in ms, of a hold and of a place; ARGV[3] name of a waiter's list,
--   without its token
-- ARGV[4] 1 if the client will wait, else 0
-- Replies {1, fence} when granted, {0, ms until the holder's lease ends} when not.
-- include handoff_first.lua
local function grant()
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return {1, redis.call('INCR', KEYS[2])}
end
if redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 then
	return grant()
end
if ARGV[4] == '1' then
	if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
		redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[2]), ARGV[1])
	end
	redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[1])
end
if redis.call('EXISTS', KEYS[1]) == 0 then
	hand()
end
local holder = redis.call('GET', KEYS[1])
if not holder or holder == ARGV[1] then
	strike(ARGV[1])
	return grant()
end
local last = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
if last[2] then
	redis.call('PEXPIREAT', KEYS[3], last[2])
	redis.call('PEXPIREAT', KEYS[4], last[2])
end
return {0, redis.call('PTTL', KEYS[1])}
