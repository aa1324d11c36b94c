-- name: fenced_read.lua
-- The guarded store of a fenced lock: reads the value and records the reader's fence. Otherwise a client whose lease has ended could still write
-- between the read and the write of the next holder, which would overwrite that update.
-- KEYS[1] the value; KEYS[2] the highest fence seen
-- ARGV[1] the reader's fence
-- Replies the value, nil if there is none.
local seen = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[1]) > seen then
	redis.call('SET', KEYS[2], ARGV[1])
end
return redis.call('GET', KEYS[1])
