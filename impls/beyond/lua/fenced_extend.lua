-- name: fenced_extend.lua
-- Restarts the lease if the token still holds.
-- KEYS[1] the holder's token; ARGV[1] token; ARGV[2] lease in ms
-- Replies 1 when extended, 0 when the hold is gone.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
