-- name: fenced_write.lua
-- The guarded store of a fenced lock: writes the value unless a higher fence was seen.
-- KEYS[1] the value; KEYS[2] the highest fence seen
-- ARGV[1] the new value; ARGV[2] the writer's fence
-- Replies 1 when written, 0 when a higher fence was seen.
local seen = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[2]) < seen then
	return 0
end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], ARGV[1])
return 1
