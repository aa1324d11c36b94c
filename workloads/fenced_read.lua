-- name: fenced_read.lua
-- The guarded store of a fenced lock: reads and, in the same step, notes the reader's fence. Without the note a client whose lease
-- has ended could still write between the read and the write of the next holder, and lose its own update to it.
-- KEYS[1] the value; KEYS[2] the highest fence that was seen
-- ARGV[1] the reader's fence
-- Replies the value, nil when there is none.
local seen = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[1]) > seen then
	redis.call('SET', KEYS[2], ARGV[1])
end
return redis.call('GET', KEYS[1])
