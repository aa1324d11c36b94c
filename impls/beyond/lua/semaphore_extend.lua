-- name: semaphore_extend.lua
-- Restarts the lease of a permit if it has not ended.
-- KEYS[1] sorted set of tokens by the end of their lease in ms; ARGV[1] token; ARGV[2] lease in ms
-- Replies 1 when extended, 0 when the permit is gone.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
	return 0
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], last[2])
return 1
