-- name: store_write.lua
-- The guarded store: writes the value, unless a higher fence was seen, and counts the writes. So
-- the order of writes is known, even of equal values.
-- KEYS[1] a hash: the value, its version, and the highest fence seen
-- ARGV[1] the new value; ARGV[2] the writer's fence, 0 if its lock has none
-- Replies the version, from 1; 0 when a higher fence was seen.
local fence = tonumber(ARGV[2])
if fence > 0 then
	if fence < tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') then
		return 0
	end
	redis.call('HSET', KEYS[1], 'fence', ARGV[2])
end
redis.call('HSET', KEYS[1], 'value', ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
