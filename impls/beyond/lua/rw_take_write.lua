-- name: rw_take_write.lua
-- Takes the lock for writing if there is no reader and no other writer. A waiting writer leaves a
-- claim, which refuses new readers and expires by the server's clock. Called again with the same
-- token it grants again.
-- KEYS[1] the writer's token; KEYS[2] the fence counter, which never expires
-- KEYS[3] readers' tokens by the end of their lease in ms; KEYS[4] waiting writers' tokens by the
--   end of their claim in ms
-- ARGV[1] token; ARGV[2] lease in ms; ARGV[4] 1 if the client will wait, else 0
-- Replies {1, fence} when granted, {0, ms after which another call can succeed} when not.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
local left
local writer = redis.call('GET', KEYS[1])
if writer and writer ~= ARGV[1] then
	left = redis.call('PTTL', KEYS[1])
else
	local reader = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
	left = reader[2] and reader[2] - now
end
if left then
	if ARGV[4] == '1' then
		redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[1])
		local last = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
		redis.call('PEXPIREAT', KEYS[4], last[2])
	end
	return {0, left}
end
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, redis.call('INCR', KEYS[2])}
