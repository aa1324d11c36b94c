-- name: fair_take.lua
-- Takes the lock in order of arrival: if it is free and no other token is earlier in the queue. A
-- waiting client gets a place in the queue, which ends after a lease by the server's clock; each
-- call renews it for a full lease, so delays do not add up. A head whose place has ended is
-- removed. Called again with the same token it grants again.
-- KEYS[1] the holder's token; KEYS[2] the counter of fences and tickets, which never expires
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
-- ARGV[1] token; ARGV[2] lease in ms, of a hold and of a place; ARGV[3] channel of a waiter,
--   without its token
-- ARGV[4] 1 if the client will wait, else 0
-- Replies {1, fence} when granted, {0, ms after which another call can succeed} when not.
-- include fair_first.lua
local holder = redis.call('GET', KEYS[1])
local head = first()
if holder == ARGV[1] or not holder and (not head or head == ARGV[1]) then
	redis.call('ZREM', KEYS[3], ARGV[1])
	redis.call('ZREM', KEYS[4], ARGV[1])
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return {1, redis.call('INCR', KEYS[2])}
end
if struck and not holder then
	redis.call('PUBLISH', ARGV[3] .. head, '')
end
if ARGV[4] == '1' then
	if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
		redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[2]), ARGV[1])
	end
	redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[1])
	local last = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
	redis.call('PEXPIREAT', KEYS[3], last[2])
	redis.call('PEXPIREAT', KEYS[4], last[2])
end
if holder then
	return {0, redis.call('PTTL', KEYS[1])}
end
return {0, redis.call('ZSCORE', KEYS[4], head) - now}
