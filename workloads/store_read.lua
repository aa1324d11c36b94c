-- name: store_read.lua
-- The guarded store of a fenced lock: reads the value and records the reader's fence. Otherwise a
-- client whose lease has ended could still write between the read and the write of the next holder,
-- which would overwrite that update.
-- KEYS[1] a hash: the value, its version, and the highest fence seen
-- ARGV[1] the reader's fence
-- Replies the value and its version, each nil if nothing was written yet.
if tonumber(ARGV[1]) > tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') then
	redis.call('HSET', KEYS[1], 'fence', ARGV[1])
end
return redis.call('HMGET', KEYS[1], 'value', 'version')
