-- name: fenced_take.lua
-- Takes the lock and a fence atomically. Called again with the same token it grants again, with a
-- higher fence, so that a client can retry after a lost reply.
-- KEYS[1] the holder's token; KEYS[2] the fence counter, which never expires
-- ARGV[1] token; ARGV[2] lease in ms
-- Replies {1, fence} when granted, {0, ms left of the other's lease} when not.
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then
		return {0, redis.call('PTTL', KEYS[1])}
	end
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, redis.call('INCR', KEYS[2])}
