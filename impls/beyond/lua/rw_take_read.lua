-- name: rw_take_read.lua
-- Takes the lock for reading if no writer holds or waits. Each reader has its own lease, by the
-- server's clock. Called again with the same token it grants again.
-- KEYS[1] the writer's token; KEYS[2] the fence counter, which never expires
-- KEYS[3] readers' tokens by the end of their lease in ms; KEYS[4] waiting writers' tokens by the
--   end of their claim in ms
-- ARGV[1] token; ARGV[2] lease in ms
-- Replies {1, fence} when granted, {0, ms after which another call can succeed} when not.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
	local writer = redis.call('PTTL', KEYS[1])
	if writer ~= -2 then
		return {0, writer}
	end
	local claim = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
	if claim[2] then
		return {0, claim[2] - now}
	end
end
redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[3], last[2])
return {1, redis.call('INCR', KEYS[2])}
