-- name: semaphore_release.lua
-- Releases a token's permit and wakes the waiters.
-- KEYS[1] sorted set of tokens by the end of their lease in ms; ARGV[1] token; ARGV[3] channel of
--   the waiters
-- Replies 1 when released, 0 when the permit was gone.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends then
	return 0
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('PUBLISH', ARGV[3], '')
return tonumber(ends) > now and 1 or 0
