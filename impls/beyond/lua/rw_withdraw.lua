-- name: rw_withdraw.lua
-- Deletes a token's hold in either mode and its claim. Wakes the waiters, because a claim refuses
-- readers.
-- KEYS[1] the writer's token; KEYS[2] not used
-- KEYS[3] readers' tokens by the end of their lease in ms; KEYS[4] waiting writers' tokens by the
--   end of their claim in ms
-- ARGV[1] token; ARGV[3] channel of the waiters
-- Replies the number of entries deleted.
local traces = redis.call('ZREM', KEYS[3], ARGV[1]) + redis.call('ZREM', KEYS[4], ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
	traces = traces + redis.call('DEL', KEYS[1])
end
if traces > 0 then
	redis.call('PUBLISH', ARGV[3], '')
end
return traces
