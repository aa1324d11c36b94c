-- name: semaphore_take.lua
-- Takes one of n permits, after removing those whose lease has ended by the server's clock. Called
-- again with the same token it restarts that token's lease.
-- KEYS[1] sorted set of tokens by the end of their lease in ms
-- ARGV[1] token; ARGV[2] lease in ms; ARGV[5] number of permits
-- Replies {1, 0} when granted, {0, ms until the first lease ends} when not.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) then
	local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
	return {0, first[2] - now}
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], last[2])
return {1, 0}
