-- name: rw_release_read.lua
-- Ends one reader's hold, and wakes the waiters if it was the last.
-- KEYS[3] readers' tokens by the end of their lease in ms
-- ARGV[1] token; ARGV[3] channel of the waiters
-- Replies 1 when released, 0 when the hold was gone.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if redis.call('ZCARD', KEYS[3]) == 0 then
	redis.call('PUBLISH', ARGV[3], '')
end
return ends and tonumber(ends) > now and 1 or 0
